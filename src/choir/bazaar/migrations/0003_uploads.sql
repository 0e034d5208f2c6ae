-- Bytes that arrive in parts before they are an object, and what providers earned.

create table uploads (
    id uuid primary key,
    owner text collate "C" not null,
    hash text collate "C" not null,  -- what the bytes must have in the end
    bytes bigint not null check (bytes >= 0),
    part_bytes integer not null check (part_bytes > 0),
    begun_us bigint not null,
    expires_us bigint not null,
    done_us bigint,  -- since then it is an object, and has no parts
    unique (owner, hash, bytes)
);
create index uploads_expired on uploads (expires_us);
grant select, insert, delete, update (done_us) on uploads to {app};

-- Unlogged: after a crash parts are missing and are sent again, which is cheaper than writing all of them twice.
create unlogged table upload_parts (
    upload uuid not null references uploads on delete cascade,
    n integer not null check (n >= 0),
    data bytea not null check (length(data) > 0),
    primary key (upload, n)
);
alter table upload_parts alter column data set storage external;
grant select, insert, delete, update (data) on upload_parts to {app};

-- What came of a provider's work, by type and day (UTC): written in the transaction that moves the money, so that
-- sums over days, weeks and months are exact and never need the single jobs.
create table provider_earnings (
    provider uuid not null references providers,
    type text collate "C" not null,
    day integer not null,  -- since 1970-01-01
    jobs bigint not null default 0 check (jobs >= 0),
    passed bigint not null default 0 check (passed >= 0),
    earned bigint not null default 0,  -- below zero where more was given back than earned that day
    fees bigint not null default 0,
    primary key (provider, day, type)
);
grant select, insert, update (jobs, passed, earned, fees) on provider_earnings to {app};
