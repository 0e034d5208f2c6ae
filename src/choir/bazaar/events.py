"""What the bazaar announces about jobs and disputes. What it says of providers is in `providers/events.py`."""

from __future__ import annotations

from choir.bazaar.providers import events as providers
from choir.storage.outbox import EventType

JOB = "bazaar.job."
_STEPS = {
    "opened": "A job was ordered and its budget is held.",
    "examined": "An order was examined and can be verified.",
    "offered": "A provider was selected and its slot reserved.",
    "started": "A provider has started.",
    "withdrawn": "A provider has withdrawn.",
    "handed_in": "A provider has delivered.",
    "failed": "An attempt failed its checks.",
    "lost": "An attempt passed the visible checks after another was first or the buyer had cancelled.",
    "timed_out": "An attempt timed out.",
    "gone": "A provider with a running attempt stopped answering.",
    "second_review": "A second reviewer is asked.",
    "second_reviewed": "A second review is in, or nobody was found for it in time.",
    "qualified": "A provider has passed a qualification.",
    "unverifiable": "The node could not verify a delivery; nobody is charged.",
    "not_verified": "Verification took too long; nobody is charged.",
    "excused": "The node was down at a deadline; nobody is charged.",
    "called_off": "An attempt was ended because its result is no longer needed.",
    "cancel_asked": "The buyer has cancelled the job.",
    "dispute_answered": "The other side has answered a dispute.",
    "under_review": "A dispute awaits an answer or a ruling.",
    "ruled": "An operator has ruled on a dispute.",
    "open": "The job waits for a provider.",
    "assigned": "A provider has the job and has not started.",
    "running": "A provider is working on it.",
    "delivered": "Work was delivered and awaits verification.",
    "verifying": "Work is being verified.",
    "paid": "The work passed and is paid.",
    "closed": "Every attempt failed; the rest of the budget was released.",
    "expired": "The job expired; the rest of the budget was released.",
    "cancelled": "The job was cancelled; the rest of the budget was released.",
    "disputed": "A party disputes the outcome.",
    "resolved": "A dispute was decided.",
}

STEPS = {what: EventType(JOB + what, doc) for what, doc in _STEPS.items()}
DEBT_PAID = EventType("bazaar.dispute.owed_paid", "A debt from a dispute was paid in part or in full.")

ALL = (*STEPS.values(), DEBT_PAID, *providers.ALL)
