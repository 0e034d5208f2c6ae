-- A terminal may also ask for one act of a person, who confirms it in the browser: what is asked, and by whose credential.
-- Such a row stays until its time is over, so that a lost answer can be fetched again.
alter table logins
    add column act text not null default 'login' check (act in ('login', 'agent', 'delegation', 'token')),
    add column terms jsonb,
    add column asked_by uuid references people,
    add column made uuid,
    drop constraint logins_state_check,
    add constraint logins_state_check check (state in ('waiting', 'approved', 'denied', 'done')),
    add constraint logins_act_terms check ((act = 'login') = (terms is null) and (act = 'login') = (asked_by is null)),
    add constraint logins_done_made check ((state = 'done') = (made is not null));
create index logins_asked_by on logins (asked_by);
grant update (made) on logins to {app};
