"""Articles: drafting, publishing, reading, revising, boosting and checking them."""
