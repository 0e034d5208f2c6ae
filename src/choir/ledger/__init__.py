"""The ledger: one double-entry, multi-asset, append-only journal that proves itself."""
