"""The parts of the embedded PostgreSQL; `choir.storage.postgres` puts them together."""
