"""Tests of search and the feed."""
