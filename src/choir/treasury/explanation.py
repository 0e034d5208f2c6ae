"""How a grant came to be as it is, in sentences and facts."""

from __future__ import annotations

from choir.feature import Base, Explanation
from choir.foundation.clock import format_time
from choir.foundation.words import shown
from choir.storage.database import Tx
from choir.treasury.vesting import rules, store
from choir.treasury.vesting.model import Grant, parse_grant_id
from choir.treasury.vesting.service import Vesting


def explain_grant(base: Base, tx: Tx, id_: str) -> Explanation:
    """What was granted, how it vests, and what was released or taken back."""
    grant = base.of(Vesting).get(tx, parse_grant_id(id_))
    frozen = base.of(Vesting).is_frozen(tx, grant.subject)
    sentences = [
        f"{_amount(grant, grant.amount)} were granted to {grant.owner or 'somebody who was erased'} out of"
        f" {grant.source} at {format_time(grant.made_us)} for {grant.kind.value}: {shown(grant.reason)}"
        f" ({shown(grant.subject)}).",
        f"It vests in equal parts each day, rounded down, over {grant.days} days from {format_time(grant.starts_us)}.",
        f"{_amount(grant, grant.vested)} have vested, {_amount(grant, grant.clawed)} were taken back,"
        f" {_amount(grant, grant.unvested)} have not vested and are in {grant.place}.",
    ]
    if grant.not_before_us is not None:
        sentences.append(f"Nothing is released before {format_time(grant.not_before_us)}.")
    if frozen:
        sentences.append("It is frozen: nothing is released meanwhile.")
    sentences += [
        f"{_amount(grant, amount)} were taken back at {format_time(at_us)}, because: {shown(reason)}."
        for amount, reason, at_us in store.claw_backs(tx, grant.id)
    ]
    facts = {
        "owner": grant.owner,
        "kind": grant.kind.value,
        "subject": grant.subject,
        "asset": grant.asset.name,
        "amount": str(grant.amount),
        "vested": str(grant.vested),
        "due": str(rules.due(grant, base.clock.now_us())),
        "clawed_back": str(grant.clawed),
        "frozen": frozen,
        "days": grant.days,
    }
    return Explanation(sentences, facts)


def _amount(grant: Grant, units: int) -> str:
    return f"{grant.asset.format(units)} {grant.asset.name}"
