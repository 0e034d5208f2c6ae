"""One's own money: accounts, balances, statements, and what may be sent to others."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Response

from choir.doors.accounts.shapes import TransferIn, TransferOut
from choir.doors.http.access import AccessRoute, BuyerDep, KeyDep, NodeDep, ReaderOrOperatorDep
from choir.doors.http.openapi import also, problems
from choir.doors.http.paging import Limit, page, page_rows
from choir.doors.http.rooms import RoomRouter
from choir.doors.ledger.routes import Account, Cursor, statement_cursor
from choir.doors.ledger.shapes import AccountOut, AccountPage, BalanceOut, PostedOut, StatementPage
from choir.foundation.clock import parse_time
from choir.foundation.errors import Invalid
from choir.foundation.money import parse_units
from choir.identity.delegations.transfers import Transfer
from choir.identity.model import Principal, Role
from choir.ledger import model as ledger_model
from choir.ledger import queries
from choir.ledger.model import UnknownAccount, account_name
from choir.ledger.policy import LedgerPolicy
from choir.storage.database import Tx

router = RoomRouter(tags=["money"], route_class=AccessRoute)


@router.get("/me/accounts")
def list_own_accounts(who: ReaderOrOperatorDep, node: NodeDep, cursor: Cursor = "", limit: Limit = 100) -> AccountPage:
    """List your own accounts by name; for an agent, also its person's. An operator owns none."""
    size = page_rows(limit, node.policy.of(LedgerPolicy))
    found: list[ledger_model.Account] = []
    with node.read() as tx:
        for owner in sorted(who.owners):
            found += queries.accounts(tx, prefix=f"{owner}/", after=cursor, limit=size + 1 - len(found))
    shown, following = page(found, size, lambda last: last.name)
    return AccountPage(items=[AccountOut.of(item) for item in shown], next=following)


@router.get("/balance", responses=problems(404))
def get_balance(
    who: ReaderOrOperatorDep,
    node: NodeDep,
    account: Account,
    at_seq: Annotated[int | None, Query(ge=0, le=2**62, description="After this entry's number.")] = None,
    at_time: Annotated[str | None, Query(max_length=40, description="At this time, ISO 8601.")] = None,
) -> BalanceOut:
    """Get a balance and its holds, now or at any past point; zero for your own account with no movement yet."""
    _must_see(who, account)
    if at_seq is not None and at_time is not None:
        raise Invalid(what="at_seq and at_time", why="give one, not both")
    with node.read() as tx:
        if at_seq is not None:
            queries.check_reached(tx, at_seq)
            seq = at_seq
        else:
            seq = queries.head(tx).seq if at_time is None else queries.seq_at(tx, parse_time(at_time))
        now = _known(tx, who, account)
        if now is None:
            return BalanceOut.unopened(account)
        balance, held = queries.balance_at_seq(tx, account, seq), queries.held_at_seq(tx, account, seq)
        return BalanceOut.of_account(now, balance, held)


@router.get("/statement", responses=problems(404))
def get_statement(
    who: ReaderOrOperatorDep, node: NodeDep, account: Account, cursor: Cursor = "", limit: Limit = 100
) -> StatementPage:
    """List an account's movements, oldest first; empty for your own account with no movement yet."""
    _must_see(who, account)
    (after_seq, after_leg), size = statement_cursor(cursor), page_rows(limit, node.policy.of(LedgerPolicy))
    with node.read() as tx:
        if _known(tx, who, account) is None:
            return StatementPage.of(account, [], None)
        found = queries.statement(tx, account, after_seq=after_seq, after_leg=after_leg, limit=size + 1)
    return StatementPage.of(account, *page(found, size, lambda last: f"{last.seq}-{last.leg}"))


@router.post(
    "/transfers",
    status_code=201,
    responses=also(200, TransferOut, "This key was accepted before.") | problems(404, 409),
)
def transfer(body: TransferIn, who: BuyerDep, key: KeyDep, node: NodeDep, response: Response) -> TransferOut:
    """Transfer to a person or an agent. USDC and SAT move freely, AID between agents; an agent's caps apply."""
    asked = Transfer(to=body.to, asset=body.asset, amount=parse_units(body.amount), from_=body.from_, memo=body.memo)
    done = node.write(lambda tx: node.transfers.send(tx, who, asked, key))
    if done.posted.again:
        response.status_code = 200
    return TransferOut.of(done, asked.amount, PostedOut.of(done.posted))


def _must_see(who: Principal, account: str) -> None:
    """An account is not there for whoever it does not belong to; the operator sees all."""
    if who.role is Role.OPERATOR:
        return
    name = account_name(account)
    if f"{name.owner_kind}:{name.owner_id}" not in who.owners:
        raise UnknownAccount(account=account)


def _known(tx: Tx, who: Principal, account: str) -> ledger_model.Account | None:
    """The account; None where it is one's own and was never opened, which is as good as an empty one to its owner.

    To an operator, who may read every account, a name that nobody has opened is most likely mistyped.
    """
    try:
        return queries.balance(tx, account)
    except UnknownAccount:
        if who.role is Role.OPERATOR:
            raise
        return None
