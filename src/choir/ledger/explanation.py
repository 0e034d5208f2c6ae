"""`choir explain ENTRY`: in words, what an entry did, why, and what stands behind it.

Guarantee: whatever a stranger could choose (the reason, kind, source, key) stands in the sentences as `shown` writes
it, so that nobody can write further sentences into them. Account names, ids and hashes are plain by their own rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from choir.feature import Explanation
from choir.foundation.clock import format_time
from choir.foundation.words import count, shown
from choir.ledger import queries
from choir.ledger.issuances import rules as issuances
from choir.ledger.model import Entry, account_name, entry_id, hold_id
from choir.storage.database import Tx


def explain_entry(tx: Tx, id_: UUID) -> Explanation:
    """What this entry did to each account, by which rule, and how it is proven."""
    entry = queries.entry(tx, id_)
    sentences = [_posted(entry, shown(entry.content["source"])) + f"{_because(entry.content)}."]
    balances = []
    for leg in entry.content["legs"]:
        sentences.append(_leg_sentence(leg, leg["from"], leg["to"]))
        for name in (leg["from"], leg["to"]):
            before = queries.balance_at_seq(tx, name, entry.seq - 1)
            after = queries.balance_at_seq(tx, name, entry.seq)
            balances.append({"account": name, "before": str(before), "after": str(after)})
    sentences += _rules(entry)
    sentences += _proof(tx, entry)
    facts = {"entry": entry.content, "seq": entry.seq, "hash": entry.hash.hex(), "balances": balances}
    return Explanation(sentences, facts)


def tell_entry(entry: Entry, by: str, sides: Sequence[tuple[str, str]], *, whole: bool) -> list[str]:
    """The same for a reader to whom whoever posted it and the sides of each leg are named so; some may know no more."""
    content = entry.content
    posted = _posted(entry, by)
    legs = [_leg_sentence(leg, *named) for leg, named in zip(content["legs"], sides, strict=True)]
    if not whole:
        return [f"{posted}.", *legs, _ZERO]
    return [f"{posted}{_because(content)}.", *legs, *_rules(entry, by)]


_ZERO = "Every account but issuance and external ones had to stay at or above zero, and did."


def _posted(entry: Entry, by: str) -> str:
    kind = shown(entry.content["kind"])
    return f"Entry {entry.seq} ({entry_id(entry.id)}) was posted at {format_time(entry.at_us)} by {by} as {kind}"


def _because(content: dict[str, Any]) -> str:
    return "" if content["reason"] == content["kind"] else f", because: {shown(content['reason'])}"


def _leg_sentence(leg: dict[str, Any], from_: str, to: str) -> str:
    asset = account_name(leg["from"]).asset
    amount = f"{asset.format(int(leg['amount']))} {asset.name}"
    back = " (the rest, released to its payer)" if leg.get("rest") else ""
    return f"It moved {amount} from {from_} to {to}{back}."


def _rules(entry: Entry, by: str = "") -> list[str]:
    """The rules that let it pass, as far as its content names them."""
    content = entry.content
    told = [_ZERO]
    hold = content.get("hold")
    if hold and "captures" in hold:
        told.append(
            f"It placed a hold that allows {hold['captures']} capture(s) until {format_time(hold['expires_us'])}."
        )
    elif hold:
        told.append(f"It used the hold {hold_id(UUID(hold['id']))}.")
    if content["source"] == issuances.SOURCE:
        proposed, *approved = [shown(ref.partition(":")[2]) for ref in content["refs"][1:]]
        told.append(f"It was proposed by {proposed} and approved by {' and '.join(approved)}.")
    if "corrects" in content:
        told.append(f"It corrects the entry {entry_id(UUID(content['corrects']))}.")
    if "policy" in content:
        told.append(f"The policy in force was {content['policy']}.")
    if "receipt" in content:
        told.append(f"Its receipt is {content['receipt']}.")
    told.append(
        f"Sent again by {by or shown(content['source'])} with the key {shown(content['key'])}, it has no second effect."
    )
    return told


def _proof(tx: Tx, entry: Entry) -> list[str]:
    size = tx.value("select size from checkpoints where size >= %s order by size limit 1", entry.seq)
    if size is None:
        return ["No signed checkpoint covers it yet; `choir ledger checkpoint` signs one."]
    entries = count(size, "entry", "entries")
    return [f"A signed checkpoint of {entries} covers it; `choir ledger prove {entry_id(entry.id)}` proves it."]
