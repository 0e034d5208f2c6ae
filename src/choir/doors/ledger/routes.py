"""The ledger over HTTP: accounts, entries, holds, checkpoints and proofs."""

from __future__ import annotations

import base64
import itertools
from contextlib import nullcontext
from typing import Annotated
from uuid import UUID

from fastapi import Path, Query, Response

from choir.doors.http.access import AccessRoute, AnyoneDep, KeyDep, NodeDep, OperatorDep
from choir.doors.http.etags import NOT_CHANGED, IfNoneMatch, tag_of, unchanged
from choir.doors.http.openapi import also, problems
from choir.doors.http.paging import Limit, NumberCursor, last_number, page, page_rows
from choir.doors.http.problems import problem_of
from choir.doors.http.rooms import RoomRouter
from choir.doors.ledger.readers import found_entry, reader_of
from choir.doors.ledger.shapes import (
    AccountAct,
    AccountActIn,
    AccountIn,
    AccountOut,
    AccountPage,
    BatchEntryIn,
    BatchIn,
    BatchItemOut,
    BatchOut,
    CaptureIn,
    CheckpointOut,
    ConsistencyOut,
    EntryIn,
    EntryOut,
    EntryPage,
    FundIn,
    HoldIn,
    HoldOut,
    HoldPlacedOut,
    InclusionOut,
    PostedOut,
    ProofOut,
    ReleaseIn,
    TrialBalanceOut,
)
from choir.foundation.canonical import parse_object_hash
from choir.foundation.clock import MICROSECONDS, parse_time
from choir.foundation.errors import Invalid, Refusal
from choir.foundation.ids import parse_id
from choir.foundation.money import parse_units
from choir.ledger import holds, queries
from choir.ledger import model as ledger_model
from choir.ledger.checkpoints import InclusionProof, NoCheckpoint, SignedCheckpoint
from choir.ledger.issuances.rules import refuse_issuing_alone
from choir.ledger.model import (
    CLAIM,
    AccountClosed,
    BadEntry,
    ConflictingKey,
    Draft,
    Leg,
    Posted,
    UnknownHold,
    account_name,
    hold_account,
    parse_entry_id,
)
from choir.ledger.policy import LedgerPolicy
from choir.ledger.publication import publish_checkpoint
from choir.ledger.visibility import visible
from choir.node import Node
from choir.storage.database import Tx

router = RoomRouter(tags=["ledger"], route_class=AccessRoute, responses=problems(404, 409))

_AGAIN = "This key had been accepted before."
_TEXT = r"^[^\x00]*$"  # PostgreSQL has no zero character
Cursor = Annotated[str, Query(max_length=400, pattern=_TEXT, description="`next` of the previous page.")]
EntryOrNumber = Annotated[str, Path(max_length=60, pattern=_TEXT, description="The id of an entry, or its number.")]
Account = Annotated[str, Query(max_length=200, pattern=_TEXT, examples=["person:ada/available/SAT"])]


@router.post("/accounts", status_code=201)
def open_account(body: AccountIn, who: OperatorDep, node: NodeDep) -> AccountOut:
    """Open an account. Idempotent; a closed account stays closed and is refused."""

    def work(tx: Tx) -> ledger_model.Account:
        node.accounts.open(tx, [body.name], reason=body.reason, source=who.source)
        return queries.balance(tx, body.name)

    found = node.write(work)
    if found.state == "closed":
        raise AccountClosed(account=body.name)
    return AccountOut.of(found)


@router.get("/accounts")
def list_accounts(
    _: OperatorDep, node: NodeDep, prefix: Account = "", cursor: Cursor = "", limit: Limit = 100
) -> AccountPage:
    """List accounts by name."""
    size = page_rows(limit, node.policy.of(LedgerPolicy))
    with node.read() as tx:
        found = queries.accounts(tx, prefix=prefix, after=cursor, limit=size + 1)
    shown, following = page(found, size, lambda last: last.name)
    return AccountPage(items=[AccountOut.of(item) for item in shown], next=following)


@router.post("/accounts/{act}")
def act_on_account(act: AccountAct, body: AccountActIn, who: OperatorDep, node: NodeDep) -> AccountOut:
    """Freeze, unfreeze or close an account. Unfreezing pays what was due while it was frozen."""
    acts = {"freeze": node.accounts.freeze, "unfreeze": node.claims.unfreeze, "close": node.accounts.close}

    def work(tx: Tx) -> AccountOut:
        with node.unfreezing(tx, body.name) if act == "unfreeze" else nullcontext():
            acts[act](tx, body.name, reason=body.reason, source=who.source)
        return AccountOut.of(queries.balance(tx, body.name))

    return node.write(work)


@router.post("/entries", status_code=201, responses=also(200, PostedOut, _AGAIN))
async def post_entry(body: EntryIn, who: OperatorDep, key: KeyDep, node: NodeDep, response: Response) -> PostedOut:
    """Post an entry. Repeating the same key and content returns the same answer, with status 200."""
    draft = _draft(node, body, who.source, key)
    [posted] = await node.async_submitter.submit(draft)
    if posted.again:
        response.status_code = 200
    return PostedOut.of(posted)


@router.post("/entries/batch")
def post_batch(body: BatchIn, who: OperatorDep, node: NodeDep) -> BatchOut:
    """Post many entries, each accepted or refused on its own, in order."""
    groups: list[list[Draft | Refusal]] = []
    for link, run in itertools.groupby(body.entries, key=lambda item: item.link):
        drafts = [_draft_or_refusal(node, item, who.source) for item in run]
        groups += [drafts] if link is not None else [[draft] for draft in drafts]
    outcomes = node.submitter.submit_batch(groups)
    return BatchOut(
        results=[
            BatchItemOut(posted=PostedOut.of(outcome))
            if isinstance(outcome, Posted)
            else BatchItemOut(problem=problem_of(outcome))
            for outcome in outcomes
        ]
    )


@router.get("/entries")
def list_entries(_: OperatorDep, node: NodeDep, cursor: NumberCursor = "", limit: Limit = 100) -> EntryPage:
    """List the journal, oldest first."""
    size, after = page_rows(limit, node.policy.of(LedgerPolicy)), last_number(cursor) or 0
    with node.read() as tx:
        found = queries.entries(tx, after_seq=after, limit=size + 1)
    shown, following = page(found, size, lambda last: str(last.seq))
    return EntryPage(items=[EntryOut.of(item) for item in shown], next=following)


@router.get("/entries/{entry}", response_model=EntryOut, responses=NOT_CHANGED)
def get_entry(
    entry: str, _: OperatorDep, node: NodeDep, response: Response, if_none_match: IfNoneMatch = None
) -> EntryOut | Response:
    """Get an entry. It never changes, so it has an ETag, which also covers whether its memo was erased."""
    with node.read() as tx:
        found = queries.entry(tx, parse_entry_id(entry))
        memo = queries.memo(tx, found.seq)
    tag = f'"{found.hash.hex()}{"" if memo is None else "-memo"}"'
    response.headers["ETag"] = tag
    return unchanged(if_none_match, tag) or EntryOut.of(found, memo)


@router.get("/entries/{entry}/proof")
def prove_entry(entry: str, _: OperatorDep, node: NodeDep) -> ProofOut:
    """Prove that an entry is in the journal, under a signed checkpoint; signs one if none covers it yet."""
    id_ = parse_entry_id(entry)

    def work(tx: Tx) -> tuple[InclusionProof, SignedCheckpoint | None]:
        found, last = queries.entry(tx, id_), node.checkpoints.latest(tx)
        signed = node.checkpoints.sign(tx) if last is None or last.size < found.seq else None
        return node.checkpoints.prove(tx, found), signed

    proof, signed = node.write(work)
    if signed is not None:
        publish_checkpoint(node.settings.home, signed.note)
    return ProofOut.of(proof)


@router.get("/entries/{entry}/inclusion")
def show_inclusion(entry: EntryOrNumber, who: AnyoneDep, node: NodeDep) -> InclusionOut:
    """Prove that an entry is in the journal, without what is private in it. Public; for an entry's id or number.

    It needs a signed checkpoint, which comes within a minute. Whoever may see the whole entry also gets its content.
    """
    with node.read() as tx:
        found = found_entry(tx, entry)
        proof = node.checkpoints.prove(tx, found)
        whole = visible(found.content, reader_of(node, tx, who, [found])).whole
        return InclusionOut.of(proof, key=str(node.keys.current(tx).vkey), whole=whole)


@router.post("/holds", status_code=201, responses=also(200, HoldPlacedOut, _AGAIN))
def place_hold(body: HoldIn, who: OperatorDep, key: KeyDep, node: NodeDep, response: Response) -> HoldPlacedOut:
    """Place a hold on money until it is captured, released or expires."""
    refuse_issuing_alone([body.payer], production=node.identity.production)
    if (body.expires_at is None) == (body.expires_in_s is None):
        raise Invalid(what="The hold", why="it takes one of expires_at and expires_in_s")
    try:
        [posted] = node.submitter.submit(_hold_draft(node, body, who.source, key))
    except ConflictingKey:
        if body.expires_in_s is None:
            raise
        # Of two that were sent at once, the other may have come first: then its end is the end.
        [posted] = node.submitter.submit(_hold_draft(node, body, who.source, key))
    if posted.again:
        response.status_code = 200
    with node.read() as tx:
        hold = queries.hold(tx, holds.placed_id(who.source, key))
    return HoldPlacedOut(hold=HoldOut.of(hold), posted=PostedOut.of(posted))


@router.get("/holds/{hold}")
def get_hold(hold: str, _: OperatorDep, node: NodeDep) -> HoldOut:
    """Get a hold and what remains in it."""
    with node.read() as tx:
        return HoldOut.of(queries.hold(tx, parse_id("hold", hold)))


@router.post("/holds/{hold}/capture")
def capture_hold(hold: str, body: CaptureIn, who: OperatorDep, key: KeyDep, node: NodeDep) -> PostedOut:
    """Capture from a hold; a final capture releases the rest. Holds of jobs and disputes end with those."""
    id_ = _free_hold(node, hold)
    legs = tuple(
        Leg(hold_account(id_, account_name(leg.to).asset), leg.to, parse_units(leg.amount)) for leg in body.legs
    )
    draft = holds.capture(
        id_,
        legs,
        final=body.final,
        reason=body.reason,
        source=who.source,
        key=key,
        refs=tuple(body.refs),
        receipt=None if body.receipt is None else parse_object_hash(body.receipt),
    )
    return PostedOut.of(node.submitter.submit(draft)[0])


@router.post("/holds/{hold}/release")
def release_hold(hold: str, body: ReleaseIn, who: OperatorDep, key: KeyDep, node: NodeDep) -> PostedOut:
    """Release what remains in a hold. Holds of jobs and disputes end with those."""
    draft = holds.release(_free_hold(node, hold), reason=body.reason, source=who.source, key=key)
    return PostedOut.of(node.submitter.submit(draft)[0])


@router.get("/trial-balance")
def get_trial_balance(_: OperatorDep, node: NodeDep) -> TrialBalanceOut:
    """Get the trial balance by asset and role; each asset sums to zero. It reads every account, so operators only."""
    with node.read() as tx:
        return TrialBalanceOut.of(queries.trial_balance(tx))


@router.post("/checkpoints", status_code=201)
def sign_checkpoint(_: OperatorDep, node: NodeDep) -> CheckpointOut:
    """Sign a checkpoint over everything posted so far."""
    checkpoint = node.write(node.checkpoints.sign)
    publish_checkpoint(node.settings.home, checkpoint.note)
    return CheckpointOut.of(checkpoint)


@router.get("/checkpoints/latest", response_model=CheckpointOut, responses=NOT_CHANGED)
def latest_checkpoint(
    _: AnyoneDep, node: NodeDep, response: Response, if_none_match: IfNoneMatch = None
) -> CheckpointOut | Response:
    """Get the last signed checkpoint. Public: keep it, to see later that nothing before it was changed."""
    with node.read() as tx:
        found = node.checkpoints.latest(tx)
    if found is None:
        raise NoCheckpoint(what="anything yet")
    return _tagged(found, response, if_none_match)


@router.get("/checkpoints/{size}", response_model=CheckpointOut, responses=NOT_CHANGED)
def get_checkpoint(
    size: Annotated[int, Path(ge=1, le=2**62, description="Number of entries it covers.")],
    _: AnyoneDep,
    node: NodeDep,
    response: Response,
    if_none_match: IfNoneMatch = None,
) -> CheckpointOut | Response:
    """Get the checkpoint over this many entries; the newest, if accounts or the node's key changed since. Public."""
    with node.read() as tx:
        found = node.checkpoints.exactly(tx, size)
    return _tagged(found, response, if_none_match)


@router.get("/consistency")
def prove_consistency(
    _: OperatorDep,
    node: NodeDep,
    size1: Annotated[int, Query(ge=1, le=2**62, description="Size of the earlier checkpoint.")],
    size2: Annotated[int | None, Query(ge=1, le=2**62, description="Size of the later one; default: the last.")] = None,
) -> ConsistencyOut:
    """Prove that a later checkpoint only appends to an earlier one."""
    with node.read() as tx:
        later = node.checkpoints.latest(tx) if size2 is None else None
        second = later or node.checkpoints.exactly(tx, size2 or 0)
        first = node.checkpoints.exactly(tx, size1)
        proof = node.checkpoints.prove_consistency(tx, first.size, second.size)
        rotations = node.checkpoints.rotations(tx)
    shown = [base64.b64encode(item).decode() for item in proof]
    return ConsistencyOut.model_validate(
        {"from": first.note, "to": second.note, "proof": shown, "rotations": rotations}
    )


@router.post("/fund", status_code=201, responses=also(200, PostedOut, _AGAIN))
def fund(body: FundIn, who: OperatorDep, key: KeyDep, node: NodeDep, response: Response) -> PostedOut:
    """Fund an account with play money (development nodes only)."""
    draft = node.funding.draft(body.account, parse_units(body.amount), source=who.source, key=key)

    def work(tx: Tx) -> Posted:
        node.funding.open_accounts(tx, body.account)
        [posted] = node.ledger.post(tx, draft)
        return posted

    posted = node.write(work)
    if posted.again:
        response.status_code = 200
    return PostedOut.of(posted)


def _draft(node: Node, body: EntryIn, source: str, key: str) -> Draft:
    legs = tuple(Leg(leg.from_, leg.to, parse_units(leg.amount)) for leg in body.legs)
    refuse_issuing_alone([leg.from_ for leg in legs], production=node.identity.production)
    return Draft(
        kind=body.kind,
        reason=body.reason,
        source=source,
        key=key,
        legs=legs,
        refs=tuple(body.refs),
        receipt=None if body.receipt is None else parse_object_hash(body.receipt),
        corrects=None if body.corrects is None else parse_entry_id(body.corrects),
        memo=body.memo,
    )


def _hold_draft(node: Node, body: HoldIn, source: str, key: str) -> Draft:
    if account_name(body.payer).role == CLAIM:  # what came back from it would stay behind when the claim comes home
        raise BadEntry(why="nothing can be held from a claim account")
    return holds.place(
        body.payer,
        parse_units(body.amount),
        expires_us=_end_of(node, body, holds.placed_id(source, key)),
        captures=body.captures,
        reason=body.reason,
        source=source,
        key=key,
        refs=tuple(body.refs),
    )


def _free_hold(node: Node, hold: str) -> UUID:
    """A hold that is an operator's to end."""
    id_ = parse_id("hold", hold)
    with node.read() as tx:
        node.guard_hold(tx, id_)
    return id_


def _end_of(node: Node, body: HoldIn, hold: UUID) -> int:
    """When it ends. A hold that was placed before keeps its end, so that the request that placed it can be repeated."""
    if body.expires_in_s is None:
        return parse_time(body.expires_at or "")
    with node.read() as tx:
        try:
            return queries.hold(tx, hold).expires_us
        except UnknownHold:
            return queries.time_us(tx, node.clock.now_us()) + body.expires_in_s * MICROSECONDS


def _draft_or_refusal(node: Node, item: BatchEntryIn, source: str) -> Draft | Refusal:
    """An entry of a batch is judged on its own, also where it is malformed."""
    try:
        return _draft(node, item, source, item.key)
    except Refusal as refusal:
        return refusal


def _tagged(checkpoint: SignedCheckpoint, response: Response, if_none_match: str | None) -> CheckpointOut | Response:
    tag = tag_of(checkpoint.note.encode())
    response.headers["ETag"] = tag
    return unchanged(if_none_match, tag) or CheckpointOut.of(checkpoint)


def statement_cursor(cursor: str) -> tuple[int, int]:
    if not cursor:
        return 0, -1
    seq, _, leg = cursor.partition("-")
    if not (seq.isdecimal() and leg.isdecimal() and len(cursor) < 30):
        raise Invalid(what="cursor", why="it must be the `next` of a page")
    return int(seq), int(leg)
