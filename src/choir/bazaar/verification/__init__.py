"""Verification: is a delivery what was ordered? Decided by looking, in a sandbox that the provider never touched.

    with Verifier(sandboxes, policy.of(VerificationPolicy)) as verifier:
        verdict = verifier.verify(Order(…), Delivery(…))

What each check proves and what none of them can is in docs/security/verification.md.
"""
