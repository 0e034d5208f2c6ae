"""Nostr, as a protocol: events, filters, names for people, private texts, and what jobs and providers look like in it.

Pure: data in, data out, no database and no network. The relay, identity and every door that speaks Nostr stand on it.
"""
