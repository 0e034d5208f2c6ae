"""The HTTP door: `/v1` with OpenAPI, health, metrics."""
