"""The one way out of a sandbox: a proxy on the host with an allow-list, reached over one Unix socket."""
