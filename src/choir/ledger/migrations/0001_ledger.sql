-- The journal and what is derived from it.
-- Journal tables can only grow: the application role may insert and read, and triggers refuse
-- everything else to everyone, whatever the role and the session's replication setting.

create function refuse_change() returns trigger language plpgsql as $$
begin
    raise exception 'the journal is append-only: % on % is refused', tg_op, tg_table_name
        using errcode = 'restrict_violation';
end $$;

create table ledger_head (
    one boolean primary key default true check (one),
    seq bigint not null,
    hash bytea not null check (length(hash) = 32),
    at_us bigint not null,
    acts bigint not null,
    acts_hash bytea not null check (length(acts_hash) = 32)
) with (fillfactor = 10);
insert into ledger_head values
    (true, 0, decode(repeat('00', 32), 'hex'), 0, 0, decode(repeat('00', 32), 'hex'));
grant select, update on ledger_head to {app};

create table accounts (
    id bigint generated always as identity primary key,
    name text collate "C" not null unique,
    state text not null default 'open' check (state in ('open', 'frozen', 'closed'))
);
create index accounts_not_open on accounts (id) where state <> 'open';
grant select, insert, update (state) on accounts to {app};
grant usage on sequence accounts_id_seq to {app};  -- the ids of hold accounts are reserved before they are written

create table account_acts (
    n bigint primary key,
    account bigint not null references accounts,
    act text not null check (act in ('open', 'freeze', 'unfreeze', 'close')),
    after_seq bigint not null,  -- how many entries were posted before it
    at_us bigint not null,
    reason text not null,
    source text not null,
    hash bytea not null check (length(hash) = 32)
);
create index account_acts_changes on account_acts (n) where act <> 'open';  -- what accounts that existed already met

create table entries (
    seq bigint primary key,
    id uuid not null unique,
    at_us bigint not null,
    source text collate "C" not null,
    key text collate "C" not null,
    content text not null,  -- canonical JSON, byte for byte what was hashed
    hash bytea not null check (length(hash) = 32),
    unique (source, key)
);

-- One row for each side of each leg, with the running balance of its account: the current balance
-- is the last row by primary key, and past balances use the same index.
create table postings (
    account bigint not null,
    seq bigint not null,
    leg smallint not null,
    delta bigint not null check (delta <> 0),
    balance bigint not null,
    primary key (account, seq, leg)
);

-- Append a few entries in one call. It moves the head only if it is still where the caller read it,
-- and says whether it did: a caller that read without a lock then reads and decides again.
create function ledger_append(
    expected_seq bigint, expected_hash bytea, expected_acts_hash bytea, new_at_us bigint,
    seqs bigint[], ids uuid[], sources text[], keys text[], contents text[], hashes bytea[],
    accounts bigint[], account_seqs bigint[], legs smallint[], deltas bigint[], balances bigint[]
) returns boolean language plpgsql as $$
begin
    update ledger_head set seq = seqs[cardinality(seqs)], hash = hashes[cardinality(hashes)], at_us = new_at_us
        where seq = expected_seq and hash = expected_hash and acts_hash = expected_acts_hash;
    if not found then
        return false;
    end if;
    insert into entries (seq, id, at_us, source, key, content, hash)
        select n, i, new_at_us, s, k, c, h
        from unnest(seqs, ids, sources, keys, contents, hashes) as rows (n, i, s, k, c, h);
    insert into postings (account, seq, leg, delta, balance)
        select * from unnest(accounts, account_seqs, legs, deltas, balances);
    return true;
end $$;

-- What a lone caller sends, an entry of one leg and nothing else, read, decided, chained and written in one call.
-- Anything that is not simply accepted is left to the caller: then nothing is written and no row comes back. The
-- layout of ids and hashes is that of `ledger/chaining.py` and `ledger/hashing.py`, and tests hold them together.
create function ledger_post_one(
    payer bigint, payee bigint, amount bigint, may_overdraw boolean,
    new_source text, new_key text, new_content text, digest bytea, now_us bigint, chance bigint
) returns table (posted_seq bigint, posted_id bytea, posted_at_us bigint, posted_hash bytea) language plpgsql as $$
declare
    head ledger_head;
    paid bigint;
    received bigint;
begin
    select * into head from ledger_head for update;
    if exists (select from accounts a where a.id in (payer, payee) and a.state <> 'open') then
        return;
    end if;
    select coalesce((select p.balance from postings p where p.account = payer order by p.seq desc, p.leg desc limit 1), 0),
        coalesce((select p.balance from postings p where p.account = payee order by p.seq desc, p.leg desc limit 1), 0)
        into paid, received;
    if (paid < amount and not may_overdraw)
        or paid < amount - 9223372036854775807 or received > 9223372036854775807 - amount then
        return;
    end if;
    posted_seq := head.seq + 1;
    posted_at_us := greatest(now_us, head.at_us);
    posted_id := int8send(((posted_at_us / 1000) << 16) | 28672 | (posted_at_us % 1000 * 4096 / 1000))
        || int8send((-9223372036854775808)::bigint | ((posted_seq & 4294967295) << 30) | chance);
    posted_hash := sha256('choir-entry-v1'::bytea || head.hash || int8send(posted_seq) || int8send(posted_at_us)
        || posted_id || digest);
    update ledger_head set seq = posted_seq, hash = posted_hash, at_us = posted_at_us;
    insert into entries (seq, id, at_us, source, key, content, hash)
        values (posted_seq, encode(posted_id, 'hex')::uuid, posted_at_us, new_source, new_key, new_content, posted_hash);
    insert into postings (account, seq, leg, delta, balance) values
        (payer, posted_seq, 0, -amount, paid - amount), (payee, posted_seq, 1, amount, received + amount);
    return next;
end $$;

-- What a person wrote beside an entry. The entry holds a salted commitment, so this can be erased.
create table entry_memos (
    seq bigint primary key,
    salt bytea not null,
    memo text not null
);
grant select, insert, delete on entry_memos to {app};

create table holds (
    id uuid primary key,
    account bigint not null references accounts,
    payer bigint not null references accounts,
    placed_seq bigint not null,
    expires_us bigint not null,
    captures_max integer not null check (captures_max > 0),
    captures integer not null default 0,
    closed_seq bigint  -- derived: the entry that emptied it
);
create index holds_open on holds (expires_us) where closed_seq is null;
-- By when they ended, those that are open last: so "open after entry n" is the end of a payer's part of the index.
create index holds_payer on holds (payer, coalesce(closed_seq, 9223372036854775807));
grant select, insert, update (captures, closed_seq) on holds to {app};

-- Complete tiles of 256 hashes: tile (level, n) has the Merkle nodes of height 8*level, n*256 to n*256+255.
create table merkle_tiles (
    level smallint not null,
    n bigint not null,
    hashes bytea not null check (length(hashes) = 8192),
    primary key (level, n)
);

create table checkpoints (
    n bigint generated always as identity primary key,
    size bigint not null,
    root bytea not null check (length(root) = 32),
    acts bigint not null,
    acts_hash bytea not null check (length(acts_hash) = 32),
    at_us bigint not null,
    note text not null
);
create index checkpoints_size on checkpoints (size, acts, n);

create table node_keys (
    n integer primary key check (n > 0),
    vkey text not null unique,
    at_us bigint not null,
    rotation text  -- the note by which the key before it handed over; none for the first
);

grant select, insert on account_acts, entries, postings, merkle_tiles, checkpoints, node_keys to {app};

create trigger append_only before update or delete or truncate on account_acts execute function refuse_change();
create trigger append_only before update or delete or truncate on entries execute function refuse_change();
create trigger append_only before update or delete or truncate on postings execute function refuse_change();
create trigger append_only before update or delete or truncate on merkle_tiles execute function refuse_change();
create trigger append_only before update or delete or truncate on checkpoints execute function refuse_change();
create trigger append_only before update or delete or truncate on node_keys execute function refuse_change();
alter table account_acts enable always trigger append_only;
alter table entries enable always trigger append_only;
alter table postings enable always trigger append_only;
alter table merkle_tiles enable always trigger append_only;
alter table checkpoints enable always trigger append_only;
alter table node_keys enable always trigger append_only;
