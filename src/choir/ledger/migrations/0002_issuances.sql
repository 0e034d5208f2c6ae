-- Money that operators want to bring into being. What was proposed never changes: only how it ended is written later.

create table issuances (
    id uuid primary key,
    proposer text collate "C" not null,
    key text collate "C" not null,
    reason text not null,
    legs text not null,  -- canonical JSON
    proposed_us bigint not null,
    expires_us bigint not null,
    entry uuid,  -- what was posted
    ended_by text,
    ended_us bigint,
    unique (proposer, key),
    check ((ended_by is null) = (ended_us is null)),
    check (entry is null or ended_us is not null)
);
create index issuances_open on issuances (expires_us) where ended_us is null;
grant select, insert, update (entry, ended_by, ended_us) on issuances to {app};

create table issuance_approvals (
    issuance uuid not null references issuances,
    operator text collate "C" not null,
    at_us bigint not null,
    primary key (issuance, operator, at_us)  -- a name may go over to somebody else, who speaks for themselves
);
grant select, insert on issuance_approvals to {app};
