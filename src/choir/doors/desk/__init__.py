"""The writer's desk: pages on which a person writes, checks, publishes and sees what it earned."""
