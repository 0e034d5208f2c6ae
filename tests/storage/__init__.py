"""Tests of storage, on real servers."""
