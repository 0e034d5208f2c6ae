"""What `choir bench` measures: ratios within one run, never seconds against a wish."""
