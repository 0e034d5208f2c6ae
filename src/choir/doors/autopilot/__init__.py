"""From a failing test or an issue to a branch with a verified patch, within a budget."""
