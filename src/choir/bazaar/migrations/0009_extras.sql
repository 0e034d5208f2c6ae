-- What stronger checks of an order cost on top of the work: fixed when it is ordered, paid with the first verdict that
-- needed them, and to the verifier fund.
alter table jobs add column extras bigint not null default 0 check (extras >= 0 and extras <= budget);
alter table job_attempts add column extras bigint not null default 0 check (extras >= 0);
create unique index job_attempts_extras on job_attempts (job) where extras > 0;  -- once per job
grant update (extras) on job_attempts to {app};
