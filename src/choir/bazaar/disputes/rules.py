"""What can be disputed, who wins, and what that is worth: pure.

Guarantees: what running the checks again can decide is decided by that alone; whoever does not answer in time
loses what only an answer could have saved; an opener who is wrong loses the deposit, and nothing else but the fee for
hidden checks that are upheld.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from choir.bazaar.attempts.model import Attempt, AttemptState
from choir.bazaar.disputes.model import (
    DECIDABLE,
    BadStatement,
    Dispute,
    NotDisputable,
    Ruling,
    Side,
    Trigger,
    Winner,
)
from choir.bazaar.jobs.model import Job, Verdict
from choir.bazaar.policy import BazaarPolicy
from choir.foundation.clock import MICROSECONDS


def check_open(job: Job, attempt: Attempt, side: Side, trigger: Trigger, now_us: int, policy: BazaarPolicy) -> None:
    """Raise unless this side may dispute this attempt now; a time in which the node was away is no part of `now_us`."""
    if job.qualifies is not None:
        raise NotDisputable(why="it was a qualification; retry it instead")
    if job.closed_us is None or attempt.ended_us is None or attempt.verdict is None:
        raise NotDisputable(why="it has no verdict yet, or the job is open")
    if side is Side.BUYER and attempt.paid == 0:
        raise NotDisputable(why="nothing was paid for it")
    if side is Side.PROVIDER and attempt.state is not AttemptState.FAILED:
        raise NotDisputable(why="it did not fail")
    window_s = policy.security_dispute_s if trigger is Trigger.SECURITY else policy.dispute_s
    if now_us >= attempt.ended_us + window_s * MICROSECONDS:
        raise NotDisputable(why=f"the deadline has passed: {window_s // 3600} hours after the verdict")


def check_statement(text: str, policy: BazaarPolicy) -> None:
    if not 0 < len(text) <= policy.statement_chars_max or "\0" in text:
        raise BadStatement(limit=policy.statement_chars_max)


def by_machine(dispute: Dispute, before_passed: bool, again: Verdict, *, planted: bool = False) -> Winner | None:
    """Who wins by what the checks say when they are run again; None where they cannot say.

    A provider whose work was refused doubts the checks themselves, whatever it calls that. Only whether hidden ones
    were fair needs a person's eyes: what fails twice in the open shall not be won by the buyer's silence. What the
    node itself has planted is fair by its making.
    """
    about_hidden = again.visible_passed and not again.passed and not planted
    if dispute.trigger not in DECIDABLE and (dispute.side is Side.BUYER or about_hidden):
        return None
    if again.passed and not before_passed:
        return Winner.PROVIDER
    if not again.passed and before_passed:
        return Winner.BUYER
    # The second look says what the first said: whoever doubted it was wrong.
    return Winner.PROVIDER if dispute.side is Side.BUYER else Winner.BUYER


def by_silence(dispute: Dispute) -> Winner:
    """Who wins when the other side has not answered in time."""
    return Winner.BUYER if dispute.side is Side.BUYER else Winner.PROVIDER


def by_rulings(rulings: Sequence[Ruling], needed: int) -> Winner | None:
    """Who wins when so many operators agree."""
    for winner in Winner:
        if sum(ruling.winner is winner for ruling in rulings) >= needed:
            return winner
    return None


def opener_lost(dispute: Dispute, winner: Winner) -> bool:
    return winner is not Winner.SPLIT and winner.value != dispute.side.value


def take(there: Mapping[str, int], wanted: int) -> dict[str, int]:
    """What is taken of what is there, from one place after the other, until it is enough."""
    taken: dict[str, int] = {}
    for place, has in there.items():
        amount = min(has, wanted - sum(taken.values()))
        if amount > 0:
            taken[place] = amount
    return taken


def goes_to_buyer(dispute: Dispute, winner: Winner) -> bool:
    """Whether what a dispute moves goes to the buyer."""
    return winner is Winner.BUYER or (winner is Winner.SPLIT and dispute.side is Side.BUYER)


def worth(dispute: Dispute, winner: Winner, paid: int, price: int, *, failed: bool = False, returned: int = 0) -> int:
    """What is moved to the winner, the deposit aside.

    An attempt that `failed` and was paid has the fee for hidden checks: if a provider doubts them and they are upheld,
    the buyer has it back. `returned` is what another dispute about the attempt has given back already.
    """
    if goes_to_buyer(dispute, winner):
        if dispute.side is Side.PROVIDER and not failed:
            return 0
        whole = paid if winner is Winner.BUYER else paid // 2
        return max(0, min(whole, paid - returned))
    if opener_lost(dispute, winner):
        return 0
    whole = price - paid
    return whole // 2 if winner is Winner.SPLIT else whole
