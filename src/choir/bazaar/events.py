"""What the bazaar announces about jobs and disputes. What it says of providers is in `providers/events.py`."""

from __future__ import annotations

from choir.bazaar.providers import events as providers
from choir.storage.outbox import EventType

JOB = "bazaar.job."
_STEPS = {
    "opened": "A job was ordered and its budget is held.",
    "examined": "An order was looked at and can be verified.",
    "offered": "A provider was chosen, and its slot is reserved.",
    "started": "A provider has begun.",
    "withdrawn": "A provider has given the job back.",
    "handed_in": "A provider has handed in its work.",
    "failed": "An attempt failed its checks.",
    "lost": "An attempt passed the visible checks after another was first or the buyer had cancelled.",
    "timed_out": "An attempt was not handed in in time.",
    "gone": "A provider at work no longer answers.",
    "qualified": "A provider has passed a qualification.",
    "unverifiable": "The node could not verify something; it costs nobody anything.",
    "not_verified": "Verification took too long; it costs nobody anything.",
    "excused": "The node was away when a time ended; it costs nobody anything.",
    "called_off": "An attempt was ended because nobody needs its result any more.",
    "cancel_asked": "The buyer has cancelled the job.",
    "dispute_answered": "The other side has answered a dispute.",
    "under_review": "A dispute waits for an answer or a ruling.",
    "ruled": "An operator has ruled on a dispute.",
    "open": "The job waits for a provider.",
    "assigned": "A provider has the job and has not begun.",
    "running": "A provider is at work.",
    "delivered": "Work was handed in and waits to be verified.",
    "verifying": "Work is being verified.",
    "paid": "The work passed and is paid.",
    "closed": "Every attempt failed; the rest of the budget went back.",
    "expired": "The job's time is over; the rest of the budget went back.",
    "cancelled": "The job was cancelled; the rest of the budget went back.",
    "disputed": "A party disputes the outcome.",
    "resolved": "A dispute was decided.",
}

STEPS = {what: EventType(JOB + what, doc) for what, doc in _STEPS.items()}
DEBT_PAID = EventType("bazaar.dispute.owed_paid", "Of what was owed after a dispute, something was paid.")

ALL = (*STEPS.values(), DEBT_PAID, *providers.ALL)
