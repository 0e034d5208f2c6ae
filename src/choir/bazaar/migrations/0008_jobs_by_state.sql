-- Operators look through jobs by their state.

create index jobs_state on jobs (state, id desc);
