-- What the node owed at some sizes of its journal, as it was published, and what proofs of it are made from.

create table liability_snapshots (
    id uuid primary key,
    size bigint not null unique,  -- how many entries; one note for each size, and no second one
    at_us bigint not null,
    note text not null,
    checkpoint text not null,
    secret bytea not null check (length(secret) = 32)
);
grant select, insert on liability_snapshots to {app};
create trigger append_only before update or delete or truncate on liability_snapshots execute function refuse_change();
alter table liability_snapshots enable always trigger append_only;

-- The accounts on which something may be owed, without those of all the holds there ever were.
create index accounts_owed on accounts (id)
    where name >= 'agent:' and name < 'agent;' or name >= 'person:' and name < 'person;';

-- Snapshots that were begun and not finished. One is made at a time, so whoever begins another forgets these.
create table liability_drafts (
    snapshot uuid primary key
);
grant select, insert, delete on liability_drafts to {app};

-- Written before their snapshot, some at a time, and forgotten when newer ones are kept instead.
create table liability_tiles (
    snapshot uuid not null,
    asset text collate "C" not null,
    share smallint not null,
    level smallint not null,
    n bigint not null,
    nodes bytea not null,  -- up to 256 of 48 bytes: a sum and a hash
    primary key (snapshot, asset, share, level, n)
);
alter table liability_tiles alter column nodes set storage external;  -- hashes cannot be made smaller

create table liability_pages (
    snapshot uuid not null,
    asset text collate "C" not null,
    first bigint not null,  -- the first account on it
    rows bytea not null,  -- by account: what is owed on it and where its shares are
    primary key (snapshot, asset, first)
);
grant select, insert, delete on liability_tiles, liability_pages to {app};
