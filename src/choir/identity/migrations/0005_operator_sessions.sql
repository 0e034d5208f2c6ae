-- An operator's way into the browser: a code that is good once and shortly, and the session that it becomes. Both are
-- kept as hashes. `mark` commits to the operator's token: a session ends when that token is no longer the operator's.
create table operator_codes (
    hash bytea primary key check (length(hash) = 32),
    source text not null,  -- "operator" or "operator:NAME"
    mark bytea not null check (length(mark) = 32),
    expires_us bigint not null
);
create index operator_codes_expiry on operator_codes (expires_us);
grant select, insert, delete on operator_codes to {app};

create table operator_sessions (
    hash bytea primary key check (length(hash) = 32),
    source text not null,
    mark bytea not null check (length(mark) = 32),
    created_us bigint not null,
    expires_us bigint not null
);
create index operator_sessions_expiry on operator_sessions (expires_us);
grant select, insert, delete on operator_sessions to {app};
