"""Uploads: bytes that come with an order or a delivery."""
