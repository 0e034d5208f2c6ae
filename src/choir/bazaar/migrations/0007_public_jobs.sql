-- What the parties of a job made public, each its own side: the buyer the order and what came of it, a provider what
-- it did. Taken back by deleting the row; it goes with the person.
create table job_sharing (
    job uuid not null references jobs,
    side text not null check (side in ('buyer', 'provider')),
    owner text collate "C" not null,
    since_us bigint not null,
    primary key (job, side, owner)
);
create unique index job_sharing_public on job_sharing (job desc) where side = 'buyer';
create index job_sharing_owner on job_sharing (owner);
grant select, insert, delete on job_sharing to {app};

-- The hall lists all jobs but the node's qualifications, newest first.
create index jobs_hall on jobs (created_us desc, id desc) where qualifies is null;

-- What came of all work by day (UTC), summed once a day is over, so that totals need not add up every provider's days.
create table market_days (
    day integer primary key,  -- since 1970-01-01
    judged bigint not null,
    passed bigint not null,
    earned bigint not null
);
create index provider_earnings_day on provider_earnings (day);
grant select, insert on market_days to {app};
