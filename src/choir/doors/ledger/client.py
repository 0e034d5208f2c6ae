"""The ledger: accounts, entries, holds and proofs. Amounts are whole numbers of the smallest unit.

Every method that changes something takes a `key`: the same key and content have one effect, however often
they are sent. Without one, a fresh key is made for the call.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from choir.doors.ledger.shapes import (
    AccountOut,
    AccountPage,
    BalanceOut,
    BatchOut,
    CheckpointOut,
    ConsistencyOut,
    EntryIn,
    EntryOut,
    EntryPage,
    HoldOut,
    HoldPlacedOut,
    InclusionOut,
    PostedOut,
    ProofOut,
    StatementPage,
    TrialBalanceOut,
)
from choir.doors.sdk.calls import Call, R, Room, call, key_or_new, new_key, pages, path


class LedgerClient(Room[R]):
    """What the client itself offers; every other part of a node is a room of the client."""

    # Accounts

    @call
    def open_account(self, name: str, *, reason: str = "opened by an operator") -> Call[AccountOut]:
        """Open an account. Idempotent; a closed account stays closed and is refused."""
        body = {"name": name, "reason": reason}
        return Call("POST", "/v1/accounts", AccountOut, body, key=new_key())

    @pages
    def accounts(self, prefix: str = "", *, limit: int = 1000) -> Call[AccountPage]:
        """List accounts whose name starts with the prefix."""
        return Call("GET", "/v1/accounts", AccountPage, params={"prefix": prefix or None, "limit": limit})

    @call
    def freeze(self, name: str, *, reason: str) -> Call[AccountOut]:
        """Freeze an account: every movement is refused."""
        return _act("freeze", name, reason)

    @call
    def unfreeze(self, name: str, *, reason: str) -> Call[AccountOut]:
        """Unfreeze an account."""
        return _act("unfreeze", name, reason)

    @call
    def close_account(self, name: str, *, reason: str) -> Call[AccountOut]:
        """Close an empty account permanently."""
        return _act("close", name, reason)

    @call
    def balance(self, account: str, *, at_seq: int | None = None, at_time: str | None = None) -> Call[BalanceOut]:
        """Get a balance and its holds, now or at any past point."""
        params = {"account": account, "at_seq": at_seq, "at_time": at_time}
        return Call("GET", "/v1/balance", BalanceOut, params=params)

    @call
    def statement(self, account: str, *, cursor: str | None = None, limit: int = 100) -> Call[StatementPage]:
        """Get a page of an account's movements, oldest first."""
        return _statement(account, cursor, limit)

    @pages
    def statement_lines(self, account: str, *, limit: int = 1000) -> Call[StatementPage]:
        """Iterate over an account's movements, oldest first; `limit` is the page size."""
        return _statement(account, None, limit)

    @call
    def trial_balance(self) -> Call[TrialBalanceOut]:
        """Get the trial balance by asset and role; each asset sums to zero."""
        return Call("GET", "/v1/trial-balance", TrialBalanceOut)

    # Entries

    @call
    def post(
        self,
        legs: Sequence[tuple[str, str, int]],
        *,
        reason: str,
        kind: str = "transfer",
        refs: Sequence[str] = (),
        memo: str | None = None,
        corrects: str | None = None,
        key: str | None = None,
    ) -> Call[PostedOut]:
        """Post an entry; each leg is (from, to, amount)."""
        body = {
            "kind": kind,
            "reason": reason,
            "legs": [_leg(*leg) for leg in legs],
            "refs": list(refs),
            "memo": memo,
            "corrects": corrects,
        }
        return _entry(body, key)

    @call
    def post_entry(self, entry: EntryIn, *, key: str | None = None) -> Call[PostedOut]:
        """Post an entry in its full shape."""
        return _entry(entry.model_dump(by_alias=True), key)

    @call
    def transfer(self, payer: str, payee: str, amount: int, *, reason: str, key: str | None = None) -> Call[PostedOut]:
        """Move an amount from one account to another."""
        return _entry({"kind": "transfer", "reason": reason, "legs": [_leg(payer, payee, amount)]}, key)

    @call
    def post_batch(self, entries: Iterable[dict[str, Any]]) -> Call[BatchOut]:
        """Post many entries; each has its own `key`, so the call can be retried."""
        return Call("POST", "/v1/entries/batch", BatchOut, {"entries": list(entries)}, key=new_key())

    @call
    def entries(self, *, cursor: str | None = None, limit: int = 100) -> Call[EntryPage]:
        """Get a page of the journal, oldest first; a cursor is an entry's number."""
        return Call("GET", "/v1/entries", EntryPage, params={"cursor": cursor, "limit": limit})

    @pages
    def journal(self, *, after_seq: int = 0, limit: int = 1000) -> Call[EntryPage]:
        """Iterate over entries after a number, oldest first; `limit` is the page size."""
        return Call("GET", "/v1/entries", EntryPage, params={"cursor": str(after_seq), "limit": limit})

    @call
    def entry(self, id_: str) -> Call[EntryOut]:
        """Get an entry, with its memo unless erased."""
        return Call("GET", path("/v1/entries/{entry}", entry=id_), EntryOut)

    @call
    def fund(self, account: str, amount: int, *, key: str | None = None) -> Call[PostedOut]:
        """Fund an account with play money (development nodes only)."""
        body = {"account": account, "amount": str(amount)}
        return Call("POST", "/v1/fund", PostedOut, body, key=key_or_new(key))

    # Holds

    @call
    def hold(
        self,
        payer: str,
        amount: int,
        *,
        reason: str,
        expires_at: str | None = None,
        expires_in_s: int | None = None,
        captures: int = 1,
        refs: Sequence[str] = (),
        key: str | None = None,
    ) -> Call[HoldPlacedOut]:
        """Place a hold, until a time or for some seconds by the node's clock."""
        body = {
            "payer": payer,
            "amount": str(amount),
            "expires_at": expires_at,
            "expires_in_s": expires_in_s,
            "captures": captures,
            "reason": reason,
            "refs": list(refs),
        }
        return Call("POST", "/v1/holds", HoldPlacedOut, body, key=key_or_new(key))

    @call
    def get_hold(self, hold: str) -> Call[HoldOut]:
        """Get a hold and what remains in it."""
        return Call("GET", path("/v1/holds/{hold}", hold=hold), HoldOut)

    @call
    def capture(
        self, hold: str, legs: Sequence[tuple[str, int]], *, reason: str, final: bool = True, key: str | None = None
    ) -> Call[PostedOut]:
        """Capture from a hold; each leg is (to, amount)."""
        shown = [{"to": payee, "amount": str(amount)} for payee, amount in legs]
        body = {"legs": shown, "final": final, "reason": reason}
        return Call("POST", path("/v1/holds/{hold}/capture", hold=hold), PostedOut, body, key=key_or_new(key))

    @call
    def release(self, hold: str, *, reason: str, key: str | None = None) -> Call[PostedOut]:
        """Release what remains in a hold."""
        body = {"reason": reason}
        return Call("POST", path("/v1/holds/{hold}/release", hold=hold), PostedOut, body, key=key_or_new(key))

    # Proofs

    @call
    def checkpoint(self) -> Call[CheckpointOut]:
        """Sign a checkpoint over everything posted so far."""
        return Call("POST", "/v1/checkpoints", CheckpointOut, {}, key=new_key())

    @call
    def latest_checkpoint(self) -> Call[CheckpointOut]:
        """Get the last signed checkpoint."""
        return Call("GET", "/v1/checkpoints/latest", CheckpointOut)

    @call
    def get_checkpoint(self, size: int) -> Call[CheckpointOut]:
        """Get the checkpoint over this many entries."""
        return Call("GET", f"/v1/checkpoints/{int(size)}", CheckpointOut)

    @call
    def prove(self, entry: str) -> Call[ProofOut]:
        """Get a self-contained proof that an entry is in the journal."""
        return Call("GET", path("/v1/entries/{entry}/proof", entry=entry), ProofOut)

    @call
    def inclusion(self, entry: str) -> Call[InclusionOut]:
        """Get a proof that an entry is in the journal, without what is private in it; by its id or number."""
        return Call("GET", path("/v1/entries/{entry}/inclusion", entry=entry), InclusionOut)

    @call
    def prove_consistency(self, size1: int, size2: int | None = None) -> Call[ConsistencyOut]:
        """Get a self-contained proof that the later checkpoint only appends to the earlier one."""
        return Call("GET", "/v1/consistency", ConsistencyOut, params={"size1": size1, "size2": size2})


def _act(act: str, name: str, reason: str) -> Call[AccountOut]:
    """No key: freezing twice is refused the second time, so it is not for repeating."""
    return Call("POST", f"/v1/accounts/{act}", AccountOut, {"name": name, "reason": reason})


def _entry(body: dict[str, Any], key: str | None) -> Call[PostedOut]:
    return Call("POST", "/v1/entries", PostedOut, body, key=key_or_new(key))


def _leg(payer: str, payee: str, amount: int) -> dict[str, str]:
    return {"from": payer, "to": payee, "amount": str(amount)}


def _statement(account: str, cursor: str | None, limit: int) -> Call[StatementPage]:
    params = {"account": account, "cursor": cursor, "limit": limit}
    return Call("GET", "/v1/statement", StatementPage, params=params)
