-- Who is who: people, passkeys, agents, delegations, keys, tokens, sessions.
-- Personal data (handles, names that people give to things) is only in columns that erasing a person empties.

create table people (
    id uuid primary key,
    handle text collate "C" unique,  -- lower case; null once erased
    user_handle bytea not null unique,  -- WebAuthn's opaque name for the person
    created_us bigint not null,
    erased_us bigint,
    sybil_signs integer not null default 0,  -- others who had come from the same place when they signed up
    sybil_score integer not null default 0  -- grows with signs of being one of many, falls with vouches
);
grant select, insert, update (handle, erased_us, sybil_score, user_handle) on people to {app};

-- A handle is never given to somebody else: what an erased person leaves is this.
create table retired_handles (
    hash bytea primary key check (length(hash) = 32),
    at_us bigint not null
);
grant select, insert on retired_handles to {app};

-- What those hashes are made with: random, made once, and as lasting as they are.
create table handle_pepper (
    one boolean primary key default true check (one),
    pepper bytea not null check (length(pepper) = 32)
);
grant select, insert on handle_pepper to {app};

create table passkeys (
    id bytea primary key check (length(id) between 16 and 1023),  -- WebAuthn credential id
    person uuid not null references people,
    name text not null,
    public_key bytea not null,  -- COSE
    sign_count bigint not null,
    aaguid uuid,
    backed_up boolean not null,
    created_us bigint not null,
    last_used_us bigint
);
create index passkeys_person on passkeys (person);
grant select, insert, delete, update (name, sign_count, backed_up, last_used_us) on passkeys to {app};

create table recovery_codes (
    person uuid not null references people,
    hash bytea not null check (length(hash) = 32),
    used_us bigint,
    primary key (person, hash)
);
grant select, insert, delete, update (used_us) on recovery_codes to {app};

-- A WebAuthn ceremony under way; taken once.
create table challenges (
    id uuid primary key,
    purpose text not null,
    person uuid references people,
    challenge bytea not null,
    data jsonb not null default '{{}}',
    expires_us bigint not null
);
create index challenges_expiry on challenges (expires_us);
create index challenges_person on challenges (person);
grant select, insert, delete on challenges to {app};

create table vouches (
    voucher uuid not null references people,
    person uuid not null references people,
    at_us bigint not null,
    primary key (voucher, person),
    check (voucher <> person)
);
create index vouches_person on vouches (person);
grant select, insert, delete on vouches to {app};

create table agents (
    id uuid primary key,
    owner uuid references people,  -- null: it stands on its Nostr key alone
    nostr_key bytea unique check (length(nostr_key) = 32),
    name text,
    created_us bigint not null,
    retired_us bigint,
    check (owner is not null or nostr_key is not null)
);
create index agents_owner on agents (owner, id);
grant select, insert, update (name, retired_us, nostr_key) on agents to {app};

create table delegations (
    id uuid primary key,
    person uuid not null references people,  -- whose authority it is
    agent uuid not null references agents,
    parent uuid references delegations,  -- the wider one it was narrowed from
    depth integer not null check (depth between 0 and 16),
    scopes text[] not null,
    expires_us bigint not null,
    created_us bigint not null,
    revoked_us bigint,
    name text
);
create index delegations_person on delegations (person, id);
create index delegations_agent on delegations (agent, id);
create index delegations_parent on delegations (parent);
grant select, insert, update (revoked_us, name) on delegations to {app};

create table delegation_caps (
    delegation uuid not null references delegations,
    asset text not null,
    period text not null check (period in ('day', 'week', 'month', 'total')),
    cap bigint not null check (cap >= 0),
    primary key (delegation, asset, period)
);
grant select, insert on delegation_caps to {app};

-- What was spent under a delegation and all that was narrowed from it, in one period.
create table delegation_spends (
    delegation uuid not null references delegations,
    asset text not null,
    period text not null,
    begins_us bigint not null,
    spent bigint not null check (spent >= 0),
    primary key (delegation, asset, period, begins_us)
);
grant select, insert, update (spent) on delegation_spends to {app};

-- Holds that were charged to a delegation: what comes back from one is given back to the same windows.
create table delegation_holds (
    hold uuid primary key,
    delegation uuid not null references delegations,
    asset text not null,
    charged_us bigint not null
);
grant select, insert on delegation_holds to {app};

create table account_keys (
    id uuid primary key,
    owner text not null,  -- "person:…" or "agent:…"
    public bytea not null unique check (length(public) = 32),  -- BIP-340
    derivation text,  -- such as m/44'/1237'/0'/0/0; null: brought along
    seed uuid,  -- keys of one phrase share it
    sealed bytea,  -- the secret, encrypted under a node key; null once erased or retired
    sealed_by text not null,  -- which node key
    created_us bigint not null,
    retired_us bigint
);
create index account_keys_owner on account_keys (owner, created_us);
create index account_keys_seed on account_keys (seed);
create index account_keys_sealed_by on account_keys (sealed_by) where sealed is not null;
grant select, insert, update (sealed, sealed_by, retired_us) on account_keys to {app};

create table api_tokens (
    id uuid primary key,
    hash bytea not null unique check (length(hash) = 32),
    person uuid references people,
    agent uuid references agents,
    delegation uuid references delegations,
    name text not null,
    scopes text[] not null,
    created_us bigint not null,
    expires_us bigint not null,
    last_used_us bigint,
    revoked_us bigint,
    check ((person is not null) <> (agent is not null)),
    check ((agent is not null) = (delegation is not null))
);
create index api_tokens_person on api_tokens (person, id);
create index api_tokens_agent on api_tokens (agent, id);
grant select, insert, update (name, last_used_us, revoked_us) on api_tokens to {app};

create table sessions (
    hash bytea primary key check (length(hash) = 32),
    person uuid not null references people,
    passkey bytea not null references passkeys on delete cascade,  -- a session does not outlive its passkey
    created_us bigint not null,
    expires_us bigint not null,
    asserted_us bigint not null  -- when the passkey was last shown
);
create index sessions_person on sessions (person);
create index sessions_passkey on sessions (passkey);
create index sessions_expiry on sessions (expires_us);
grant select, insert, delete, update (expires_us, asserted_us) on sessions to {app};

-- A program that asks for a token of whoever approves it in the browser. Fetching the token removes the row.
create table logins (
    id uuid primary key,
    challenge bytea not null check (length(challenge) = 32),  -- SHA-256 of what only the program knows
    code text not null,  -- for the person to compare
    name text not null,
    scopes text[] not null,
    days integer not null check (days > 0),
    created_us bigint not null,
    expires_us bigint not null,
    person uuid references people,  -- who decided
    state text not null default 'waiting' check (state in ('waiting', 'approved', 'denied')),
    check ((state = 'waiting') = (person is null))
);
create index logins_expiry on logins (expires_us);
create index logins_person on logins (person);
grant select, insert, delete, update (person, state) on logins to {app};

-- What an idempotency key made, so that the same request sent again makes nothing more.
create table repeats (
    source text not null,  -- who asked
    key text not null,
    content bytea not null check (length(content) = 32),  -- a hash of the request
    made uuid,  -- set before the transaction ends
    at_us bigint not null,
    primary key (source, key)
);
create index repeats_age on repeats (at_us);
grant select, insert, delete, update (made) on repeats to {app};

-- Signed requests (NIP-98) that were used, so that none is used twice.
create table used_events (
    id bytea primary key check (length(id) = 32),
    expires_us bigint not null
);
create index used_events_expiry on used_events (expires_us);
grant select, insert, delete on used_events to {app};

-- How often something happened in a window, for rate limits that hold across processes.
create table rate_counts (
    bucket text not null,
    begins_us bigint not null,
    count bigint not null,
    primary key (bucket, begins_us)
);
create index rate_counts_age on rate_counts (begins_us);
grant select, insert, delete, update (count) on rate_counts to {app};

-- What network addresses are hashed with before they are counted. A day's salt goes with the day, and what
-- was counted under it can no longer be traced to an address.
create table address_salts (
    day bigint primary key,
    salt bytea not null check (length(salt) = 32)
);
grant select, insert, delete on address_salts to {app};

-- Why two owners are taken for one: same owner, shared payout, shared key derivation, funding.
create table cluster_links (
    a text not null,
    b text not null,
    reason text not null,
    evidence text not null,  -- an id or a hash, never personal data
    at_us bigint not null,
    primary key (a, b, reason),
    check (a < b)
);
create index cluster_links_b on cluster_links (b);
grant select, insert, delete on cluster_links to {app};

create table identity_acts (
    n bigint generated always as identity primary key,
    at_us bigint not null,
    actor text not null,
    owner text not null,  -- whose identity it is about
    act text not null,
    subject text,
    data jsonb not null default '{{}}'  -- never personal data
);
create index identity_acts_owner on identity_acts (owner, n);
grant select, insert on identity_acts to {app};
create trigger append_only before update or delete or truncate on identity_acts execute function refuse_change();
alter table identity_acts enable always trigger append_only;
