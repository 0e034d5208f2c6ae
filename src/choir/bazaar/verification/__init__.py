"""Verification: is a delivery what was ordered? Decided by looking, in a sandbox that the provider never touched.

    with Verifier(sandboxes, policy.verification) as verifier:
        verdict = verifier.verify(Order(…), Delivery(…))

What each check proves and what none of them can is in docs/security/verification.md.
"""

from __future__ import annotations

from choir.bazaar.verification.model import Cancelled, Delivery, Order
from choir.bazaar.verification.runs import output_of, run_spec
from choir.bazaar.verification.service import BadOrder, Verifier
from choir.bazaar.verification.texts import count_tokens
from choir.bazaar.verification.trees import NoBase

__all__ = [
    "BadOrder",
    "Cancelled",
    "Delivery",
    "NoBase",
    "Order",
    "Verifier",
    "count_tokens",
    "output_of",
    "run_spec",
]
