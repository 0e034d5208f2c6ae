"""The write path of the ledger: drafts in, a signed chain of entries out, on one connection and as fast as it goes."""
