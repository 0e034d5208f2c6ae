-- What the node's absence gives more time to: nobody could act while it was away.

create table absences (
    since_us bigint primary key,
    until_us bigint not null check (until_us > since_us)
);
grant select, insert on absences to {app};

-- A job may be given up later than was planned, but never so late that its budget is held no longer.
alter table jobs add column held_until_us bigint;  -- when its hold ends; null: it has none
update jobs set held_until_us = holds.expires_us from holds where holds.id = jobs.hold;
grant update (expires_us) on jobs to {app};
grant update (deadline_us) on job_attempts to {app};
grant update (expires_us) on uploads to {app};
