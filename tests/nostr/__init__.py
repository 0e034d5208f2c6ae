"""Tests of the Nostr core."""
