"""The relay: events of anybody, kept in the node's database and passed on to whoever asked for them."""
