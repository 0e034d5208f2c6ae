"""Bundles: an article with all its evidence in one file that anybody can check offline."""
