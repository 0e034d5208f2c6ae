"""The journal of everything of value: entries, holds, and the proofs that it was never rewritten."""
