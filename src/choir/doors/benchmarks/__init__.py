"""Measurements that go through the doors themselves, with the SDK as their client."""
