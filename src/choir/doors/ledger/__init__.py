"""The ledger: accounts, entries, holds, proofs."""
