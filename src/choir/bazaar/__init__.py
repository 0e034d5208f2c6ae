"""The bazaar: work that a machine can verify, ordered, checked and paid for."""
