"""The web door: pages rendered on the server; every act in them is a request to `/v1` by a small script."""
