-- The treasury: the governed price of CHIP, the rates of citations, grants that vest, and citation payouts.

-- Every governed price that was in force or proposed. In force from `in_force_us` on, until the next.
create table governed_prices (
    id uuid primary key,
    micro_usdc bigint not null check (micro_usdc > 0),
    reason text not null,
    proposer text collate "C" not null,
    key text collate "C" not null,
    proposed_us bigint not null,
    expires_us bigint not null,
    approver text collate "C",
    in_force_us bigint,
    unique (proposer, key)
);
create index governed_prices_in_force on governed_prices (in_force_us, id) where in_force_us is not null;
grant select, insert, update (approver, in_force_us) on governed_prices to {app};

-- The last valid price of each day: what the next one is compared with, and what counts while there is none.
create table noted_prices (
    day bigint primary key,
    micro_usdc bigint not null check (micro_usdc >= 0),
    at_us bigint not null
);
grant select, insert, update (micro_usdc, at_us) on noted_prices to {app};

-- Fixed once, never changed.
create table citation_rates (
    month text collate "C" primary key check (month ~ '^[0-9]{{4}}-[0-9]{{2}}$'),
    micro_usdc bigint not null check (micro_usdc >= 0),
    inputs jsonb not null,
    policy text not null,
    fixed_us bigint not null
);
grant select, insert on citation_rates to {app};

-- Paid-weight citations of a month, in millionths.
create table citation_volumes (
    month text collate "C" primary key check (month ~ '^[0-9]{{4}}-[0-9]{{2}}$'),
    weight_ppm bigint not null check (weight_ppm >= 0)
);
grant select, insert, update (weight_ppm) on citation_volumes to {app};

-- What an owner was granted. By schedule `from_vested` had vested on day `from_day`; the rest vests evenly until `days`.
create table vesting_grants (
    id uuid primary key,
    key text collate "C" not null unique,
    owner text collate "C",  -- null once they are erased and it has ended
    asset text not null,
    kind text not null check (kind in ('novelty', 'citation')),
    subject text collate "C" not null,
    amount bigint not null check (amount > 0),
    source text collate "C" not null,  -- the account it came from, and goes back to
    place text collate "C" not null,   -- the account that what has not vested is in
    starts_us bigint not null,
    days int not null check (days > 0),
    not_before_us bigint,
    from_day int not null default 0 check (from_day between 0 and days),
    from_vested bigint not null default 0 check (from_vested >= 0),
    vested bigint not null default 0 check (vested >= 0),
    clawed bigint not null default 0 check (clawed >= 0),
    returned bigint not null default 0 check (returned between 0 and clawed),  -- what of `clawed` has moved
    refs text[] not null,
    reason text not null,
    made_us bigint not null,
    next_us bigint,  -- when something is due; null once all of it has gone
    check (vested + clawed <= amount),
    check (from_vested <= amount - clawed)
);
create index vesting_grants_due on vesting_grants (next_us) where next_us is not null;
create index vesting_grants_owner on vesting_grants (owner, id desc);
create index vesting_grants_subject on vesting_grants (subject, id);
create index vesting_grants_source on vesting_grants (source, made_us);
grant select, insert, update (
    owner, days, from_day, from_vested, vested, clawed, returned, next_us) on vesting_grants to {app};

-- Nothing about a subject is released while there is a row, whatever the cause.
create table vesting_freezes (
    subject text collate "C" not null,
    cause text collate "C" not null,
    at_us bigint not null,
    primary key (subject, cause)
);
grant select, insert, delete on vesting_freezes to {app};

create table vesting_claw_backs (
    n bigint generated always as identity primary key,
    "grant" uuid not null references vesting_grants,
    key text collate "C",
    amount bigint not null check (amount >= 0),
    reason text not null,
    at_us bigint not null,
    unique ("grant", key)
);
grant select, insert on vesting_claw_backs to {app};

create table citation_payouts (
    id uuid primary key,
    key text collate "C" not null unique,
    subject text collate "C" not null,
    month text collate "C" not null,
    weight_ppm bigint not null check (weight_ppm >= 0),
    content bytea not null,  -- the hash of all that was asked for
    refs text[] not null,
    starts_us bigint not null,
    made_us bigint not null
);
create index citation_payouts_subject on citation_payouts (subject, id);
grant select, insert on citation_payouts to {app};

-- What is neither paid nor cancelled is owed, in the order of `n`.
create table citation_shares (
    n bigint generated always as identity primary key,
    payout uuid not null references citation_payouts,
    owner text collate "C",  -- null once they are erased and nothing is owed
    amount bigint not null check (amount > 0),
    paid bigint not null default 0 check (paid >= 0),
    cancelled bigint not null default 0 check (cancelled >= 0),
    unique (payout, owner),
    check (paid + cancelled <= amount)
);
create index citation_shares_owed on citation_shares (n) where paid + cancelled < amount;
create index citation_shares_owner on citation_shares (owner);
grant select, insert, update (owner, paid, cancelled) on citation_shares to {app};

-- How much more, or less, was owed from when on: so that what was owed at any moment can be told.
create table citation_owed (
    n bigint generated always as identity primary key,
    share bigint not null references citation_shares,
    delta bigint not null,
    at_us bigint not null
);
create index citation_owed_at on citation_owed (at_us) include (delta);
grant select, insert on citation_owed to {app};
