-- The relay: events of anybody (NIP-01), and what their authors deleted (NIP-09).

-- `tags` has a digest for each tag of one letter, so that a value of any length is found by an index of one size.
create table relay_events (
    id bytea primary key check (length(id) = 32),
    pubkey bytea not null check (length(pubkey) = 32),
    created_at bigint not null check (created_at >= 0),
    kind int not null check (kind between 0 and 65535),
    slot bytea check (length(slot) = 32),  -- digest of the d tag, of what is replaced by a newer one
    expires_at bigint,
    tags uuid[] not null,
    body text not null,
    received_us bigint not null
);
create unique index relay_events_slot on relay_events (pubkey, kind, slot) where slot is not null;
create index relay_events_time on relay_events (created_at desc, id);
create index relay_events_author on relay_events (pubkey, created_at desc, id);
create index relay_events_kind on relay_events (kind, created_at desc, id);
create index relay_events_tags on relay_events using gin (tags);
create index relay_events_expiry on relay_events (expires_at) where expires_at is not null;
create index relay_events_received on relay_events (received_us) where slot is null;
grant select, insert, delete on relay_events to {app};

-- What an author deleted: an event by its id, or by the digest of its address all versions up to a time.
create table relay_deletions (
    pubkey bytea not null check (length(pubkey) = 32),
    target bytea not null check (length(target) = 32),
    until_at bigint not null,
    received_us bigint not null,
    primary key (pubkey, target)
);
create index relay_deletions_received on relay_deletions (received_us);
grant select, insert, delete, update (until_at, received_us) on relay_deletions to {app};

-- Takes one event, or says why not: 'stored', 'duplicate', 'older' or 'deleted'.
create function relay_take(
    new_id bytea, author bytea, at_s bigint, new_kind int, new_slot bytea, address bytea, expiry bigint, digests uuid[],
    new_body text, now_us bigint
) returns text language plpgsql as $$
declare
    old record;
begin
    if exists (select from relay_events where id = new_id) then
        return 'duplicate';
    end if;
    if exists (
        select from relay_deletions
        where pubkey = author and (target = new_id or (target = address and until_at >= at_s))
    ) then
        return 'deleted';
    end if;
    if new_slot is not null then
        perform pg_advisory_xact_lock(hashtextextended(encode(address, 'hex'), 5930));
        select id, created_at into old from relay_events where pubkey = author and kind = new_kind and slot = new_slot;
        if found then
            if old.created_at > at_s or (old.created_at = at_s and old.id < new_id) then
                return 'older';
            end if;
            delete from relay_events where id = old.id;
        end if;
    end if;
    insert into relay_events (id, pubkey, created_at, kind, slot, expires_at, tags, body, received_us)
    values (new_id, author, at_s, new_kind, new_slot, expiry, digests, new_body, now_us)
    on conflict do nothing;
    if not found then
        return 'duplicate';
    end if;
    return 'stored';
end $$;
revoke all on function relay_take from public;
grant execute on function relay_take to {app};
