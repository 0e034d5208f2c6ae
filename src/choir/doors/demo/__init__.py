"""The demo: one story played on a development node, through its real doors."""
