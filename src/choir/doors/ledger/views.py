"""The ledger's records as they travel."""

from __future__ import annotations

import base64

from choir.doors.issuances.shapes import ApprovalOut, IssuanceOut
from choir.doors.ledger.shapes import (
    AccountOut,
    BalanceOut,
    CheckpointOut,
    EntryOut,
    HoldOut,
    LegOut,
    PostedOut,
    ProofOut,
    StatementLineOut,
    StatementPage,
    TrialBalanceOut,
    TrialLineOut,
)
from choir.foundation.clock import format_time
from choir.ledger.checkpoints import InclusionProof, SignedCheckpoint
from choir.ledger.issuing.model import Issuance, IssuanceState, issuance_id
from choir.ledger.model import (
    Account,
    Entry,
    Hold,
    Posted,
    StatementLine,
    TrialLine,
    account_name,
    entry_id,
    hold_id,
)


def posted(item: Posted) -> PostedOut:
    return PostedOut(
        id=entry_id(item.id), seq=item.seq, at=format_time(item.at_us), hash=item.hash.hex(), again=item.again
    )


def account(item: Account) -> AccountOut:
    return AccountOut.model_validate(
        {"name": item.name, "asset": item.asset.name, "state": item.state, "balance": str(item.balance)}
    )


def balance(item: Account, balance: int, held: int) -> BalanceOut:
    """An account as it is now, with what it had at some point."""
    return BalanceOut(**account(item).model_dump() | {"balance": str(balance), "held": str(held)})


def unopened(name: str) -> BalanceOut:
    """An account that somebody could have, and nothing has come to."""
    asset = account_name(name).asset.name
    return BalanceOut(name=name, asset=asset, state="unopened", balance="0", held="0")


def entry(item: Entry, memo: str | None = None) -> EntryOut:
    return EntryOut(
        id=entry_id(item.id),
        seq=item.seq,
        at=format_time(item.at_us),
        at_us=item.at_us,
        content=item.content,
        prev=item.prev.hex(),
        hash=item.hash.hex(),
        memo=memo,
    )


def statement(name: str, lines: list[StatementLine], following: str | None) -> StatementPage:
    items = [
        StatementLineOut(
            seq=line.seq,
            at=format_time(line.at_us),
            entry=entry_id(line.id),
            kind=line.kind,
            reason=line.reason,
            delta=str(line.delta),
            balance=str(line.balance),
            other=line.other,
        )
        for line in lines
    ]
    return StatementPage(account=name, asset=account_name(name).asset.name, items=items, next=following)


def hold(item: Hold) -> HoldOut:
    return HoldOut(
        id=hold_id(item.id),
        account=item.account,
        payer=item.payer,
        asset=account_name(item.payer).asset.name,
        remaining=str(item.remaining),
        expires_at=format_time(item.expires_us),
        captures=item.captures,
        captures_max=item.captures_max,
        closed=item.closed,
    )


def trial_balance(lines: list[TrialLine]) -> TrialBalanceOut:
    sums: dict[str, int] = {}
    for line in lines:
        sums[line.asset] = sums.get(line.asset, 0) + line.balance
    shown = [
        TrialLineOut(asset=line.asset, role=line.role, accounts=line.accounts, balance=str(line.balance))
        for line in lines
    ]
    return TrialBalanceOut(lines=shown, balanced=not any(sums.values()))


def checkpoint(item: SignedCheckpoint) -> CheckpointOut:
    return CheckpointOut(
        size=item.size, root=base64.b64encode(item.root).decode(), at=format_time(item.at_us), note=item.note
    )


def proof(item: InclusionProof) -> ProofOut:
    found = item.entry
    line = {
        "at_us": found.at_us,
        "content": found.content,
        "hash": found.hash.hex(),
        "id": str(found.id),
        "prev": found.prev.hex(),
        "seq": found.seq,
        "type": "entry",
    }
    return ProofOut(
        entry=line,
        proof=[base64.b64encode(node).decode() for node in item.proof],
        checkpoint=item.checkpoint.note,
        rotations=item.rotations,
    )


def issuance(item: Issuance, state: IssuanceState, *, needed: int, agreed: int) -> IssuanceOut:
    legs = [{"from": leg.from_, "to": leg.to, "amount": str(leg.amount)} for leg in item.legs]
    return IssuanceOut(
        id=issuance_id(item.id),
        state=state.value,
        reason=item.reason,
        legs=[LegOut.model_validate(leg) for leg in legs],
        proposed_by=item.proposer,
        proposed_at=format_time(item.proposed_us),
        expires_at=format_time(item.expires_us),
        operators_needed=needed,
        operators_agreed=agreed,
        approvals=[ApprovalOut(operator=each.operator, at=format_time(each.at_us)) for each in item.approvals],
        entry=None if item.entry is None else entry_id(item.entry),
        ended_by=item.ended_by,
        ended_at=None if item.ended_us is None else format_time(item.ended_us),
    )
