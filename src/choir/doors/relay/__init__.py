"""The relay at the node's own port: Nostr over a WebSocket."""
