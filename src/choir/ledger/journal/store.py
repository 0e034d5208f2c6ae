"""The journal in PostgreSQL: what a round reads and what it writes.

A round reads everything it needs in one statement, so in one snapshot. Inside a caller's transaction
it takes the lock on `ledger_head` first, which is what makes the chain one chain. A round that owns
its transaction may read without the lock: appending moves the head only if nobody else did meanwhile.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from operator import itemgetter
from uuid import UUID

from psycopg.pq import TransactionStatus

from choir.ledger.hashing import ZERO_HASH, content_digest
from choir.ledger.journal.acceptance import Round
from choir.ledger.journal.records import NEWS_CHARS_MAX, NEWS_MAX, Decision, HoldState, KnownEntry, News, View
from choir.ledger.model import Head, Posted
from choir.ledger.rules import Prepared
from choir.storage.arrays import bigints, byteas, smallints, texts, uuids
from choir.storage.copy_rows import fixed_row
from choir.storage.database import Connection
from choir.storage.statements import CopyStatement, Statement, roll_back

FEW_ENTRIES = 100  # fewer are appended by one statement; from here on COPY is faster (docs/benchmarks.md)

_posting_row = fixed_row("qqhqq").pack
_entry_head = struct.Struct(">hiqi16siqi").pack  # number of fields, then the fixed ones, then the source's length
_length = struct.Struct(">i").pack
_NUMBER = struct.Struct(">q")
_HEAD_NUMBERS = struct.Struct(">qqq")  # seq, at_us, acts


@dataclass(slots=True)
class Needs:
    """What a round has to look up."""

    sources: list[str]
    keys: list[str]
    accounts: dict[str, int]  # name to id; a name without an id has no account
    holds: list[UUID] = field(default_factory=list)
    corrected: list[UUID] = field(default_factory=list)
    new_accounts: int = 0

    @property
    def plain(self) -> bool:
        """Whether the round is nothing but transfers, which one call can append."""
        return not (self.holds or self.corrected)


def lock_head(db: Connection) -> Head:
    """Take the head lock: from here to the commit this transaction alone can append."""
    row = db.execute(_LOCK, binary=True).fetchone()
    assert row is not None
    return Head(*row)


@contextmanager
def locked(db: Connection) -> Iterator[Head]:
    """A transaction that takes the head lock first, by one round trip; for a connection that commits by itself."""
    cursor = db.execute(f"begin; {_LOCK}", prepare=False)
    cursor.nextset()
    try:
        row = cursor.fetchone()
        assert row is not None
        yield Head(*row)
    except BaseException:
        roll_back(db)
        raise
    db.commit()


def account_ids(db: Connection, names: list[str]) -> dict[str, int]:
    """The ids of the accounts that exist. A name keeps its id for ever."""
    return dict(db.execute("select name, id from accounts where name = any(%s)", [names], binary=True).fetchall())


def any_known(db: Connection, sources: list[str], keys: list[str]) -> bool:
    """Whether an entry has one of these keys."""
    row = db.execute(_ANY_KNOWN, [texts(sources), texts(keys)]).fetchone()
    return row is not None and bool(row[0])


def read_view(db: Connection, needs: Needs) -> View:
    """Everything the round needs, as of now."""
    ids = sorted(needs.accounts.values())
    asked = {
        "ids": bigints(ids),
        "sources": texts(needs.sources),
        "keys": texts(needs.keys),
    }
    row = db.execute(_READ, asked, binary=True).fetchone()
    assert row is not None
    balances = dict(zip(ids, _balances(row[5], len(ids)), strict=True))
    view = View(Head(*row[:5]), needs.accounts, balances)
    not_open, known = row[6], row[7]
    if known:
        view.known = {_key(item): _known_entry(item) for item in known}
    if not_open:
        view.states = dict(db.execute("select id, state from accounts where id = any(%s)", [not_open]).fetchall())
    if not needs.plain:
        _read_holds(db, needs, view)
    return view


class NewsQuestion:
    """What happened since a head, and some balances: asked here, answered when it is fetched."""

    def __init__(self, db: Connection, since: Head | None, accounts: dict[str, int]) -> None:
        by_id = sorted(accounts.items(), key=itemgetter(1))
        self._names = [name for name, _ in by_id]
        self._since = since
        ids = bigints([id_ for _, id_ in by_id]).data
        known = (None, None) if since is None else (_NUMBER.pack(since.seq), _NUMBER.pack(since.acts))
        self._question = _NEWS.ask(db, [ids, *known, _NUMBER.pack(NEWS_MAX), _NUMBER.pack(NEWS_CHARS_MAX)])

    def fetch(self) -> News:
        """Wait for the answer."""
        numbers, hash_, acts_hash, balances, not_open, *since = self._question.answer()
        since_hash, since_acts_hash, contents, changed = since
        assert numbers is not None
        seq, at_us, acts = _HEAD_NUMBERS.unpack(numbers)
        return News(
            head=Head(seq, hash_ or b"", at_us, acts, acts_hash or b""),
            since_hash=ZERO_HASH if self._since is not None and self._since.seq == 0 else since_hash,
            since_acts_hash=ZERO_HASH if self._since is not None and self._since.acts == 0 else since_acts_hash,
            contents=_lines(contents),
            changed=_lines(changed),
            balances={} if not_open is not None else self._named(balances),
        )

    def _named(self, packed: bytes | None) -> dict[str, int]:
        return dict(zip(self._names, _balances(packed, len(self._names)), strict=True))


def _lines(text: bytes | None) -> list[str]:
    return [] if text is None else text.decode().split("\n")


def _balances(packed: bytes | None, accounts: int) -> tuple[int, ...]:
    """What so many accounts have; they come packed, in the order of the ids.

    Ids are asked for in order because neighbours in the index are found together: a seventh of the time less.
    """
    return struct.unpack(f">{accounts}q", packed or b"")


def post_one(
    db: Connection, payer: int, payee: int, item: Prepared, now_us: int, chance: int, *, may_overdraw: bool
) -> Posted | None:
    """Post an entry of one leg by one statement; None: it cannot simply be accepted, and nothing was written."""
    draft = item.draft
    row = db.execute(
        _POST_ONE,
        [
            payer, payee, draft.legs[0].amount, may_overdraw,
            draft.source, draft.key, item.content, content_digest(item.content), now_us, chance,
        ],
        binary=True,
    ).fetchone()  # fmt: skip
    return None if row is None else Posted(*row)


def append_few(db: Connection, decision: Decision, head: Head) -> bool:
    """Write what was decided and move the head by one statement, unless the head moved since it was read."""
    if decision.entries and not _append_some(db, decision, head):
        return False
    _write_beside(db, decision)
    return True


def append_many(db: Connection, round_: Round, head: Head) -> Decision:
    """Under the head's lock: decide and write at the same time, then move the head.

    COPY stores its rows by the thousand, and what remains when it ends. So the server is given the postings first,
    which are settled soon, and stores them while the entries are hashed and chained.
    """
    assert db.info.transaction_status == TransactionStatus.INTRANS, "several statements must commit together"
    with CopyStatement(db) as copying:
        for postings in round_.settle():
            copying.send(_COPY_POSTINGS, b"".join([posting_bytes(*row) for row in postings]))
        copying.end()
        for entries in round_.chain():
            copying.send(_COPY_ENTRIES, b"".join([entry_bytes(*row) for row in entries]))
        copying.end()
        decision = round_.finish()
    if decision.entries:
        moved = db.execute(
            "update ledger_head set seq = %s, hash = %s, at_us = %s where seq = %s and hash = %s and acts_hash = %s",
            [decision.entries[-1][0], decision.head_hash, decision.at_us, head.seq, head.hash, head.acts_hash],
        )
        assert moved.rowcount == 1, "nobody else can move a locked head"
    _write_beside(db, decision)
    return decision


def _append_some(db: Connection, decision: Decision, head: Head) -> bool:
    seqs, ids, _, sources, keys, contents, hashes = zip(*decision.entries, strict=True)
    accounts, account_seqs, legs, deltas, balances = zip(*decision.postings, strict=True)
    row = db.execute(
        _APPEND,
        [
            head.seq, head.hash, head.acts_hash, decision.at_us,
            bigints(seqs), uuids(ids), texts(sources), texts(keys), texts(contents), byteas(hashes),
            bigints(accounts), bigints(account_seqs), smallints(legs), bigints(deltas), bigints(balances),
        ],
        binary=True,
    ).fetchone()  # fmt: skip
    return row is not None and bool(row[0])


def posting_bytes(account: int, seq: int, leg: int, delta: int, balance: int) -> bytes:
    """A row of `postings` for a binary COPY."""
    return _posting_row(5, 8, account, 8, seq, 2, leg, 8, delta, 8, balance)


def entry_bytes(seq: int, id_: bytes, at_us: int, source: str, key: str, content: str, hash_: bytes) -> bytes:
    """A row of `entries` for a binary COPY."""
    who, what, text = source.encode(), key.encode(), content.encode()
    return b"".join(
        (
            _entry_head(7, 8, seq, 16, id_, 8, at_us, len(who)),
            who,
            _length(len(what)),
            what,
            _length(len(text)),
            text,
            b"\0\0\0\x20",
            hash_,
        )
    )


def _read_holds(db: Connection, needs: Needs, view: View) -> None:
    """What plain transfers do not need: holds with their accounts, corrected entries, ids to come."""
    for row in db.execute(_HOLD_ACCOUNTS, [needs.holds], binary=True).fetchall():
        _add_account(view, *row)
    view.holds = {row[0]: HoldState(*row) for row in db.execute(_HOLDS, [needs.holds], binary=True).fetchall()}
    if needs.corrected:
        rows = db.execute("select id from entries where id = any(%s)", [needs.corrected], binary=True).fetchall()
        view.known_ids = frozenset(row[0] for row in rows)
    if needs.new_accounts:
        reserved = db.execute(_RESERVE, [needs.new_accounts], binary=True).fetchall()
        view.new_account_ids = [row[0] for row in reserved]


def _add_account(view: View, id_: int, name: str, state: str, balance: int) -> None:
    view.ids[name] = id_
    view.balances[id_] = balance
    if state != "open":
        view.states[id_] = state


def _write_beside(db: Connection, decision: Decision) -> None:
    """What most rounds do not have."""
    if decision.memos or decision.new_holds or decision.changed_holds:
        _write_memos(db, decision)
        _write_holds(db, decision)


def _write_memos(db: Connection, decision: Decision) -> None:
    for memo in decision.memos:
        db.execute("insert into entry_memos (seq, salt, memo) values (%s, %s, %s)", memo)


def _write_holds(db: Connection, decision: Decision) -> None:
    ids = dict(decision.new_accounts)
    for name, id_ in ids.items():
        db.execute("insert into accounts (id, name) overriding system value values (%s, %s)", [id_, name])
    for hold in decision.new_holds:
        db.execute(
            "insert into holds (id, account, payer, placed_seq, expires_us, captures_max, captures, closed_seq)"
            " select %s, %s, id, %s, %s, %s, %s, %s from accounts where name = %s",
            [
                hold.id,
                ids[hold.account],
                hold.placed_seq,
                hold.expires_us,
                hold.captures_max,
                hold.captures,
                hold.closed_seq,
                hold.payer,
            ],
        )
    for hold in decision.changed_holds:
        db.execute(
            "update holds set captures = %s, closed_seq = %s where id = %s",
            [hold.captures, hold.closed_seq, hold.id],
        )


def _key(item: list[str]) -> tuple[str, str]:
    return item[0], item[1]


def _known_entry(item: list[str]) -> KnownEntry:
    _, _, seq, id_, at_us, hash_, content, salt = item
    posted = Posted(int(seq), UUID(id_).bytes, int(at_us), bytes.fromhex(hash_))
    return KnownEntry(posted, content, bytes.fromhex(salt) if salt else None)


_LOCK = "select seq, hash, at_us, acts, acts_hash from ledger_head for update"

# Each key is looked up by itself: a join would be planned while the table is small, and then read all of it.
_READ = """
    select h.seq, h.hash, h.at_us, h.acts, h.acts_hash,
        (select string_agg(int8send(coalesce(
            (select p.balance from postings p where p.account = asked.id order by p.seq desc, p.leg desc limit 1),
            0)), ''::bytea order by asked.n)
         from unnest(%(ids)b::bigint[]) with ordinality as asked (id, n)),
        array(select a.id from accounts a where a.id = any(%(ids)b::bigint[]) and a.state <> 'open'),
        (select jsonb_agg(jsonb_build_array(
            e.source, e.key, e.seq::text, e.id, e.at_us::text, encode(e.hash, 'hex'), e.content,
            encode((select m.salt from entry_memos m where m.seq = e.seq), 'hex')))
         from unnest(%(sources)b::text[], %(keys)b::text[]) as asked (source, key)
         cross join lateral (select * from entries where source = asked.source and key = asked.key limit 1) e)
    from ledger_head h
"""

_NEWS = Statement(
    "ledger_news",
    """
    select int8send(h.seq) || int8send(h.at_us) || int8send(h.acts), h.hash, h.acts_hash,
        (select string_agg(int8send(coalesce(
            (select p.balance from postings p where p.account = asked.id order by p.seq desc, p.leg desc limit 1),
            0)), ''::bytea order by asked.n)
         from unnest($1::bigint[]) with ordinality as asked (id, n)),
        (select true where exists (select from accounts a where a.id = any($1::bigint[]) and a.state <> 'open')),
        (select e.hash from entries e where e.seq = $2::bigint),
        (select t.hash from account_acts t where t.n = $3::bigint),
        case when h.seq - $2 between 1 and $4::bigint then
            (select string_agg(news.content, e'\\n' order by news.seq)
             from (select n as seq, (select e.content from entries e where e.seq = n) as content
                   from generate_series($2 + 1, h.seq) as n) news
             having sum(length(news.content)) <= $5::bigint) end,
        (select string_agg((select a.name from accounts a where a.id = changed.account), e'\\n')
         from (select t.account from account_acts t where t.n > $3 and t.act <> 'open'
               order by t.n limit $4 + 1) changed)
    from ledger_head h
    """,
)
# Canonical JSON and the names of accounts have no line breaks. Rows are looked up one by one, by sub-selects: a plan is
# made once for each connection, and one that was made for small tables would read large ones whole.

_COPY_ENTRIES = b"copy entries from stdin (format binary)"
_COPY_POSTINGS = b"copy postings from stdin (format binary)"

_ANY_KNOWN = """
    select exists (
        select from unnest(%b::text[], %b::text[]) as asked (source, key)
        where (select true from entries e where e.source = asked.source and e.key = asked.key))
"""

_HOLD_ACCOUNTS = """
    select distinct a.id, a.name, a.state, coalesce(last.balance, 0)
    from holds h
    join accounts a on a.id in (h.account, h.payer)
    left join lateral (
        select balance from postings p where p.account = a.id order by p.seq desc, p.leg desc limit 1
    ) last on true
    where h.id = any(%b)
"""

_HOLDS = """
    select h.id, a.name, p.name, h.expires_us, h.captures_max, h.captures, h.closed_seq, h.placed_seq
    from holds h join accounts a on a.id = h.account join accounts p on p.id = h.payer
    where h.id = any(%b)
"""

_RESERVE = "select nextval(pg_get_serial_sequence('accounts', 'id')) from generate_series(1, %b::integer)"

_POST_ONE = """
    select * from ledger_post_one(
        %b::bigint, %b::bigint, %b::bigint, %b::boolean,
        %b::text, %b::text, %b::text, %b::bytea, %b::bigint, %b::bigint)
"""

_APPEND = """
    select ledger_append(
        %b::bigint, %b::bytea, %b::bytea, %b::bigint,
        %b::bigint[], %b::uuid[], %b::text[], %b::text[], %b::text[], %b::bytea[],
        %b::bigint[], %b::bigint[], %b::smallint[], %b::bigint[], %b::bigint[])
"""
