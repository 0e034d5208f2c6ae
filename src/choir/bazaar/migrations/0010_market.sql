-- Skills, who got which part of a price, hidden failures, bids below the book, bonds, retention, second reviews.

-- A skill is a folder with a name and a version; neither ever changes. What its creator wrote goes with the creator.
create table skills (
    id uuid primary key,
    creator text collate "C" not null,
    name text collate "C",  -- empty once its creator was erased; so are version and description
    version text collate "C",
    description text,
    folder text collate "C" not null,  -- the hash of its bytes
    bytes bigint not null check (bytes > 0),
    files integer not null check (files > 0),
    share_bps integer not null check (share_bps between 0 and 10000),
    published_us bigint not null,
    withdrawn_us bigint
);
create unique index skills_name on skills (name, version);
create index skills_creator on skills (creator, id desc);
create index skills_listed on skills (id desc) where withdrawn_us is null;
grant select, insert, update (name, version, description, withdrawn_us) on skills to {app};

-- Whose name it is, by its hash: nobody else can publish under it, also after its creator was erased.
create table skill_names (
    digest bytea primary key check (length(digest) = 32),
    creator text collate "C" not null
);
grant select, insert on skill_names to {app};

create table job_skills (
    job uuid primary key references jobs,
    skill uuid not null references skills
);
create index job_skills_skill on job_skills (skill);
grant select, insert on job_skills to {app};

-- Who got which part of what an attempt was paid: a dispute takes it back from exactly these.
create table attempt_shares (
    attempt uuid not null references job_attempts,
    role text not null check (role in ('provider', 'platform', 'skill', 'referrer', 'fund')),
    account text collate "C" not null,
    amount bigint not null check (amount > 0),
    primary key (attempt, role)
);
grant select, insert on attempt_shares to {app};

-- Deliveries that failed hidden checks alone, and the times of all that were verified.
create table verified_deliveries (
    attempt uuid primary key references job_attempts,
    provider uuid not null,
    at_us bigint not null,
    hidden_failure boolean not null
);
create index verified_deliveries_provider on verified_deliveries (provider, at_us desc, attempt desc);
grant select, insert on verified_deliveries to {app};

-- A bid: for a time, an offer costs less than its book.
alter table provider_offers add column bid_bps integer not null default 0 check (bid_bps between 0 and 10000);
alter table provider_offers add column bid_until_us bigint not null default 0;

-- What a provider has put up as its bond; the money is on the owner's account stake.bond.
create table provider_bonds (
    provider uuid primary key references providers,
    amount bigint not null check (amount >= 0),
    changed_us bigint not null,
    release_asked_us bigint,  -- since then it counts for no tier, and goes back when nothing can need it any more
    acts integer not null default 0  -- numbers the entries that move it
);
create index provider_bonds_leaving on provider_bonds (release_asked_us) where release_asked_us is not null;
grant select, insert, update (amount, changed_us, release_asked_us, acts) on provider_bonds to {app};

-- How long the bytes of a closed job are kept, and when they were let go.
alter table jobs add column kept_until_us bigint;  -- paid for by the buyer
alter table jobs add column removed_us bigint;
create index jobs_to_remove on jobs (closed_us) where closed_us is not null and removed_us is null;
grant update (kept_until_us, removed_us) on jobs to {app};

create table job_keeps (
    job uuid not null references jobs,
    key text collate "C" not null,
    days integer not null check (days > 0),
    bytes bigint not null check (bytes >= 0),
    price bigint not null check (price >= 0),
    kept_until_us bigint not null,
    at_us bigint not null,
    primary key (job, key)
);
grant select, insert on job_keeps to {app};

-- A second reviewer: money that is set aside for it when the job opens, and what came of it.
create table second_reviews (
    job uuid not null references jobs,
    n integer not null check (n > 0),
    hold uuid not null unique,
    amount bigint not null check (amount > 0),
    state text not null check (state in ('held', 'waiting', 'done', 'released')),
    attempt uuid unique references job_attempts,  -- whose delivery is reviewed
    review uuid unique references jobs,  -- the job of the reviewer
    verdict text collate "C",  -- what the machine's checks said, until the second review is in
    outcome text check (outcome in ('clear', 'blocking', 'none')),
    findings integer,
    blocking integer,
    agrees boolean,  -- of a second review of a review: whether both found something that blocks, or neither
    began_us bigint,
    ended_us bigint,
    primary key (job, n)
);
create index second_reviews_waiting on second_reviews (began_us) where state = 'waiting';
create index second_reviews_held on second_reviews (job) where state = 'held';
grant select, insert, update (state, attempt, review, verdict, outcome, findings, blocking, agrees, began_us, ended_us)
    on second_reviews to {app};
