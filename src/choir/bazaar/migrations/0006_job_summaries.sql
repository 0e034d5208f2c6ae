-- What was ordered, in a line: so that a list of jobs need not read each order. Free text of a person, in no hash;
-- it is shown to whoever may read the order, and goes with the person.
create table job_summaries (
    job uuid primary key references jobs,
    buyer text collate "C" not null,
    summary text not null check (length(summary) <= 200)
);
create index job_summaries_buyer on job_summaries (buyer);
grant select, insert, delete on job_summaries to {app};
