"""Citation payouts, their shares and what is owed, in PostgreSQL."""

from __future__ import annotations

from uuid import UUID

from choir.storage.database import Tx
from choir.treasury.payouts.model import Payout, Share

_PAYOUT = "id, key, subject, month, weight_ppm, refs, starts_us, made_us"
_SHARE = "n, payout, owner, amount, paid, cancelled"


def lock_pool(tx: Tx) -> None:
    """Let nobody else pay out of the pool until this transaction ends, so that who came first is paid first."""
    tx.run("select pg_advisory_xact_lock(hashtext('choir citation pool'))")


def insert(tx: Tx, payout: Payout, content: bytes) -> bool:
    """False if its key was used before; who comes second waits here for the first."""
    return bool(
        tx.run(
            "insert into citation_payouts (id, key, subject, month, weight_ppm, content, refs, starts_us, made_us)"
            " values (%s, %s, %s, %s, %s, %s, %s, %s, %s) on conflict (key) do nothing",
            payout.id, payout.key, payout.subject, payout.month, payout.weight_ppm, content, list(payout.refs),
            payout.starts_us, payout.made_us,
        )
    )  # fmt: skip


def content_of(tx: Tx, key: str) -> bytes:
    found: bytes = tx.value("select content from citation_payouts where key = %s", key)
    return found


def by_key(tx: Tx, key: str) -> Payout:
    row = tx.row(f"select {_PAYOUT} from citation_payouts where key = %s", key)  # noqa: S608
    assert row is not None
    return _payout(tx, *row)


def get(tx: Tx, id_: UUID) -> Payout:
    row = tx.row(f"select {_PAYOUT} from citation_payouts where id = %s", id_)  # noqa: S608
    assert row is not None
    return _payout(tx, *row)


def _payout(
    tx: Tx, id_: UUID, key: str, subject: str, month: str, weight: int, refs: list[str], starts_us: int, made_us: int
) -> Payout:
    shares = tx.all(Share, f"select {_SHARE} from citation_shares where payout = %s order by n", id_)  # noqa: S608
    return Payout(id_, key, subject, month, weight, tuple(refs), starts_us, made_us, tuple(shares))


def insert_share(tx: Tx, payout: UUID, owner: str, amount: int) -> Share:
    n = tx.value(
        "insert into citation_shares (payout, owner, amount) values (%s, %s, %s) returning n", payout, owner, amount
    )
    return Share(n, payout, owner, amount, 0, 0)


def share(tx: Tx, n: int, *, lock: bool = False) -> Share | None:
    ending = " for update" if lock else ""
    return tx.one_or_none(Share, f"select {_SHARE} from citation_shares where n = %s{ending}", n)  # noqa: S608


def paid(tx: Tx, n: int, amount: int) -> None:
    tx.run("update citation_shares set paid = paid + %s where n = %s", amount, n)


def cancel(tx: Tx, n: int, amount: int) -> None:
    tx.run("update citation_shares set cancelled = cancelled + %s where n = %s", amount, n)


def owed_before(tx: Tx, n: int) -> bool:
    """Whether somebody is owed who came earlier."""
    return tx.row("select from citation_shares where paid + cancelled < amount and n < %s limit 1", n) is not None


def owed_first(tx: Tx, limit: int) -> list[int]:
    """Shares that are owed, who came first, first."""
    rows = tx.rows("select n from citation_shares where paid + cancelled < amount order by n limit %s", limit)
    return [row[0] for row in rows]


def id_of(tx: Tx, key: str) -> UUID | None:
    row = tx.row("select id from citation_payouts where key = %s", key)
    return None if row is None else row[0]


def owed_of_subject(tx: Tx, subject: str, payout: UUID | None = None) -> list[Share]:
    """Shares about a subject that are owed, or those of one payout."""
    return tx.all(
        Share,
        "select s.n, s.payout, s.owner, s.amount, s.paid, s.cancelled from citation_shares s"
        " join citation_payouts p on p.id = s.payout"
        " where p.subject = %s and (%s::uuid is null or p.id = %s) and s.paid + s.cancelled < s.amount"
        " order by s.n for update of s",
        subject,
        payout,
        payout,
    )


def note_owed(tx: Tx, share: int, delta: int, at_us: int) -> None:
    """More is owed from now on, or less."""
    tx.run("insert into citation_owed (share, delta, at_us) values (%s, %s, %s)", share, delta, at_us)


def owed_at(tx: Tx, at_us: int) -> int:
    """What was owed at a moment."""
    return int(tx.value("select coalesce(sum(delta), 0) from citation_owed where at_us <= %s", at_us))


def owed_now(tx: Tx) -> tuple[int, int]:
    """What is owed, and in how many shares."""
    row = tx.row(
        "select coalesce(sum(amount - paid - cancelled), 0)::bigint, count(*) from citation_shares"
        " where paid + cancelled < amount"
    )
    assert row is not None
    return row[0], row[1]


def owed_to(tx: Tx, owner: str) -> int:
    """What one owner is owed."""
    return int(
        tx.value(
            "select coalesce(sum(amount - paid - cancelled), 0) from citation_shares"
            " where owner = %s and paid + cancelled < amount",
            owner,
        )
    )


def forget(tx: Tx, owner: str) -> None:
    """Shares of which nothing is owed do not say any more whose they were."""
    tx.run("update citation_shares set owner = null where owner = %s and paid + cancelled = amount", owner)
