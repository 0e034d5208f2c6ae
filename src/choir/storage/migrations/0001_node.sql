-- The node itself, background tasks and the outbox.

create table node (
    one boolean primary key default true check (one),
    id uuid not null,
    mode text not null check (mode in ('dev', 'production')),
    origin text not null,  -- the name of this ledger in checkpoints
    created_us bigint not null,
    -- A development node may run on a moved clock; all processes read it here.
    clock_offset_us bigint not null default 0 check (mode = 'dev' or clock_offset_us = 0)
);
grant select, insert, update (clock_offset_us) on node to {app};

create table tasks (
    name text not null,
    key text not null,
    due_us bigint not null,
    payload jsonb not null default '{{}}',
    every_us bigint,  -- set: the task repeats
    attempts integer not null default 0,
    token bigint not null default 0,  -- fencing: grows with every claim
    leased_until_us bigint,
    last_error text,
    set_aside boolean not null default false,
    yields_us bigint not null default 0 check (yields_us >= 0),  -- goes behind what became due up to so much later
    primary key (name, key)
);
create index tasks_due on tasks ((due_us + yields_us)) where not set_aside;
grant select, insert, update, delete on tasks to {app};

create table outbox (
    xid xid8 not null default pg_current_xact_id(),
    n bigint generated always as identity,
    id uuid not null,
    type text not null,
    version integer not null,
    subject text not null,
    at_us bigint not null,
    actor text not null,
    cause text,
    data jsonb not null,
    audience text[] not null,  -- owners it is addressed to, or 'everyone'; empty: the operator alone
    primary key (xid, n)
);
create index outbox_at on outbox (at_us);
grant select, insert, delete on outbox to {app};

-- The last position that was forgotten: whoever resumes before it is told that something is missing.
create table outbox_forgotten (
    one boolean primary key default true check (one),
    xid xid8 not null default '0',
    n bigint not null default 0
);
insert into outbox_forgotten default values;
grant select, update on outbox_forgotten to {app};
