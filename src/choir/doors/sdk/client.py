"""A typed client of a node."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Sequence
from types import TracebackType
from typing import Any, TypeVar

from pydantic import ValidationError

from choir.doors import wire
from choir.doors.sdk.errors import NodeError, NoNode
from choir.doors.sdk.transport import Transport
from choir.foundation.settings import Settings, load_settings
from choir.operations.home import operator_token, running_node

__all__ = ["Client", "NoNode"]

T = TypeVar("T", bound=wire.Wire)
_TIMEOUT_S = 60.0
_PATIENCE_S = 15.0


def new_key() -> str:
    """A fresh idempotency key. Keep it to send the same request again."""
    return secrets.token_hex(16)


def address_of(settings: Settings, url: str | None) -> str:
    """Where the node is: as asked for, else where this home's node runs, else where it would."""
    if url is None and not settings.chose("node"):
        running = running_node(settings.home) if settings.home.exists() else None
        if running is not None and running.pid:
            return running.url
    return (url or settings.node).rstrip("/")


def credential(settings: Settings, address: str) -> str:
    """The token to use: what the settings say, else the operator's, which only this home's own node ever sees."""
    if settings.token:
        return settings.token
    running = running_node(settings.home) if settings.home.exists() else None
    return operator_token(settings.home) if running is not None and running.url == address else ""


def _read(shape: type[T], value: Any) -> T:
    """An answer in its shape; another program at that address would not have it."""
    try:
        return shape.model_validate(value)
    except ValidationError:
        raise NodeError(detail=f"The node's answer is not a {shape.__name__}; is it another version?") from None


class Client:
    """Everything a node offers, as methods. Amounts are whole numbers of the smallest unit.

    Every method that changes something takes a `key`: the same key and content have one effect,
    however often they are sent. Without one, a fresh key is made for the call. A request that is safe to
    repeat is repeated for `patience_s`; for `connect_s` only while nothing answers at all.
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        timeout_s: float = _TIMEOUT_S,
        patience_s: float = _PATIENCE_S,
        connect_s: float | None = None,
    ) -> None:
        settings = load_settings()
        address = address_of(settings, url)
        self._transport = Transport(
            address,
            credential(settings, address) if token is None else token,
            timeout_s=timeout_s,
            patience_s=patience_s,
            connect_s=patience_s if connect_s is None else connect_s,
        )

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._transport.close()

    # The node

    def node(self) -> wire.NodeOut:
        """Who the node is."""
        return _read(wire.NodeOut, self._get("/v1/node"))

    def policy(self) -> wire.PolicyOut:
        """Every policy value."""
        return _read(wire.PolicyOut, self._get("/v1/policy"))

    def explain(self, subject: str) -> wire.ExplainOut:
        """Which rule and which inputs produced something."""
        return _read(wire.ExplainOut, self._get(f"/v1/explain/{subject}"))

    # Accounts

    def open_account(self, name: str, *, reason: str = "opened by an operator") -> wire.AccountOut:
        """Open an account; again is harmless."""
        body = {"name": name, "reason": reason}
        return _read(wire.AccountOut, self._post("/v1/accounts", body, key=new_key()))

    def accounts(self, prefix: str = "", *, limit: int = 1000) -> Iterator[wire.AccountOut]:
        """All accounts whose name begins with the prefix."""
        cursor: str | None = None
        while True:
            params = {"prefix": prefix or None, "cursor": cursor, "limit": limit}
            page = _read(wire.AccountPage, self._get("/v1/accounts", params))
            yield from page.items
            if page.next is None:
                return
            cursor = page.next

    def freeze(self, name: str, *, reason: str) -> wire.AccountOut:
        """Refuse every movement of an account."""
        return self._act("freeze", name, reason)

    def unfreeze(self, name: str, *, reason: str) -> wire.AccountOut:
        return self._act("unfreeze", name, reason)

    def close_account(self, name: str, *, reason: str) -> wire.AccountOut:
        """Close an empty account for ever."""
        return self._act("close", name, reason)

    def balance(self, account: str, *, at_seq: int | None = None, at_time: str | None = None) -> wire.AccountOut:
        """A balance, now or at any past point."""
        params = {"account": account, "at_seq": at_seq, "at_time": at_time}
        return _read(wire.AccountOut, self._get("/v1/balance", params))

    def statement(self, account: str, *, cursor: str | None = None, limit: int = 100) -> wire.StatementPage:
        """A page of an account's movements, oldest first."""
        params = {"account": account, "cursor": cursor, "limit": limit}
        return _read(wire.StatementPage, self._get("/v1/statement", params))

    def trial_balance(self) -> wire.TrialBalanceOut:
        """Every asset and role; each asset sums to zero."""
        return _read(wire.TrialBalanceOut, self._get("/v1/trial-balance"))

    # Entries

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
    ) -> wire.PostedOut:
        """Post an entry; each leg is (from, to, amount)."""
        body = {
            "kind": kind,
            "reason": reason,
            "legs": [{"from": payer, "to": payee, "amount": str(amount)} for payer, payee, amount in legs],
            "refs": list(refs),
            "memo": memo,
            "corrects": corrects,
        }
        return _read(wire.PostedOut, self._post("/v1/entries", body, key=key or new_key()))

    def post_entry(self, entry: wire.EntryIn, *, key: str | None = None) -> wire.PostedOut:
        """Post an entry in its whole shape."""
        body = entry.model_dump(by_alias=True)
        return _read(wire.PostedOut, self._post("/v1/entries", body, key=key or new_key()))

    def transfer(self, payer: str, payee: str, amount: int, *, reason: str, key: str | None = None) -> wire.PostedOut:
        """Move an amount from one account to another."""
        return self.post([(payer, payee, amount)], reason=reason, key=key)

    def post_batch(self, entries: Iterable[dict[str, Any]]) -> wire.BatchOut:
        """Post many entries; each has its own `key`, so the whole call can be repeated."""
        body = {"entries": list(entries)}
        return _read(wire.BatchOut, self._post("/v1/entries/batch", body, key=new_key()))

    def entries(self, *, cursor: str | None = None, limit: int = 100) -> wire.EntryPage:
        """A page of the journal, oldest first."""
        return wire.EntryPage.model_validate(self._get("/v1/entries", {"cursor": cursor, "limit": limit}))

    def entry(self, id_: str) -> wire.EntryOut:
        """One entry, with its memo if it has one that was not erased."""
        return _read(wire.EntryOut, self._get(f"/v1/entries/{id_}"))

    def fund(self, account: str, amount: int, *, key: str | None = None) -> wire.PostedOut:
        """Development nodes only: money out of nothing."""
        body = {"account": account, "amount": str(amount)}
        return _read(wire.PostedOut, self._post("/v1/fund", body, key=key or new_key()))

    # Holds

    def hold(
        self,
        payer: str,
        amount: int,
        *,
        expires_at: str,
        reason: str,
        captures: int = 1,
        refs: Sequence[str] = (),
        key: str | None = None,
    ) -> wire.HoldPlacedOut:
        """Set money aside."""
        body = {
            "payer": payer,
            "amount": str(amount),
            "expires_at": expires_at,
            "captures": captures,
            "reason": reason,
            "refs": list(refs),
        }
        return _read(wire.HoldPlacedOut, self._post("/v1/holds", body, key=key or new_key()))

    def get_hold(self, hold: str) -> wire.HoldOut:
        return _read(wire.HoldOut, self._get(f"/v1/holds/{hold}"))

    def capture(
        self, hold: str, legs: Sequence[tuple[str, int]], *, reason: str, final: bool = True, key: str | None = None
    ) -> wire.PostedOut:
        """Pay out of a hold; each leg is (to, amount)."""
        shown = [{"to": payee, "amount": str(amount)} for payee, amount in legs]
        body = {"legs": shown, "final": final, "reason": reason}
        return _read(wire.PostedOut, self._post(f"/v1/holds/{hold}/capture", body, key=key or new_key()))

    def release(self, hold: str, *, reason: str, key: str | None = None) -> wire.PostedOut:
        """Give back what remains in a hold."""
        body = {"reason": reason}
        return _read(wire.PostedOut, self._post(f"/v1/holds/{hold}/release", body, key=key or new_key()))

    # Proofs

    def checkpoint(self) -> wire.CheckpointOut:
        """Sign a checkpoint over everything posted so far."""
        return _read(wire.CheckpointOut, self._post("/v1/checkpoints", {}, key=new_key()))

    def prove(self, entry: str) -> wire.ProofOut:
        """A self-contained proof that an entry is in the journal."""
        return _read(wire.ProofOut, self._get(f"/v1/entries/{entry}/proof"))

    def prove_consistency(self, size1: int, size2: int | None = None) -> wire.ConsistencyOut:
        """A self-contained proof that history between two checkpoints was only added to."""
        params = {"size1": size1, "size2": size2}
        return _read(wire.ConsistencyOut, self._get("/v1/consistency", params))

    def _act(self, act: str, name: str, reason: str) -> wire.AccountOut:
        body = {"name": name, "reason": reason}
        return _read(wire.AccountOut, self._transport.request("POST", f"/v1/accounts/{act}", json=body))

    def _get(self, path: str, params: dict[str, Any] | None = None) -> Any:
        return self._transport.request("GET", path, params=params)

    def _post(self, path: str, body: dict[str, Any], *, key: str) -> Any:
        return self._transport.request("POST", path, json=body, key=key)
