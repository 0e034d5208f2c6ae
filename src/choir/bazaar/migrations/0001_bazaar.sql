-- Jobs: orders, the tries of providers, and every step of their lives.

create table jobs (
    id uuid primary key,
    buyer text collate "C" not null,
    actor text collate "C" not null,
    delegation uuid,
    key text collate "C" not null,
    type text not null,
    state text not null check (state in (
        'open', 'assigned', 'running', 'delivered', 'verifying',
        'paid', 'closed', 'expired', 'cancelled', 'disputed', 'resolved')),
    request text collate "C" not null,
    inputs jsonb not null,
    hidden text collate "C",
    budget bigint not null check (budget >= 0),
    hold uuid not null unique,
    strategy jsonb not null,
    criteria jsonb not null,
    time_limit_s integer not null check (time_limit_s > 0),
    created_us bigint not null,
    expires_us bigint not null,
    offer_us bigint not null,  -- while it is open: when it is offered next, whoever is free
    ready_us bigint not null,  -- while it is open: from when a slot that comes free may go to it; who waits longest first
    cancelled_us bigint,
    winner uuid,
    price bigint check (price >= 0 and price <= budget),
    receipt text collate "C",
    closed_us bigint,
    qualifies uuid,  -- a job of the node's own, which shows whether this provider can do the type
    unique (buyer, key),
    -- Whoever orders pays. Only the node's own jobs cost nothing; they hold nothing, and no hold has a job's id.
    check (case when qualifies is null then budget > 0 and hold <> id
        else budget = 0 and hold = id and buyer = 'system:bazaar' end)
);
create index jobs_buyer on jobs (buyer, id desc);
create index jobs_live on jobs (buyer) where closed_us is null;
create index jobs_to_offer on jobs (offer_us) where state = 'open';
create index jobs_waiting on jobs (type, ready_us) where state = 'open';
create index jobs_to_end on jobs (expires_us) where closed_us is null;
grant select, insert, update (state, offer_us, ready_us, cancelled_us, winner, price, receipt, closed_us) on jobs to {app};

create table job_attempts (
    id uuid primary key,
    job uuid not null references jobs,
    n integer not null check (n > 0),
    provider uuid not null,
    owner text collate "C" not null,
    state text not null check (state in (
        'assigned', 'running', 'delivered', 'verifying',
        'passed', 'lost', 'failed', 'timed_out', 'cancelled', 'withdrawn', 'gone')),
    base bigint not null check (base >= 0),
    per_unit bigint not null check (per_unit >= 0),
    cap bigint not null check (cap >= 0),
    ceiling bigint not null check (ceiling >= 0),
    assigned_us bigint not null,
    deadline_us bigint not null,
    delivered_us bigint,
    ended_us bigint,
    artifact text collate "C",
    claimed text collate "C",
    result text collate "C",
    trajectory text collate "C",
    verdict text collate "C",
    paid bigint not null default 0 check (paid >= 0),
    reason text not null default '',
    receipt text collate "C",
    resumed_us bigint,  -- when the node was there again, if it was away while this try was live
    unique (job, n)
);
create index job_attempts_provider on job_attempts (provider, id desc);
create index job_attempts_live on job_attempts (provider) where ended_us is null;
create index job_attempts_at_work on job_attempts (deadline_us) where state in ('assigned', 'running');
create index job_attempts_handed_in on job_attempts (delivered_us) where state in ('delivered', 'verifying');
-- One job is paid for at most once.
create unique index job_attempts_winner on job_attempts (job) where state = 'passed';
grant select, insert,
    update (state, delivered_us, ended_us, artifact, claimed, result, trajectory, verdict, paid, reason, receipt,
        resumed_us)
    on job_attempts to {app};

create table job_events (
    job uuid not null references jobs,
    n integer not null,
    at_us bigint not null,
    what text not null,
    actor text collate "C" not null,
    data jsonb not null,
    primary key (job, n)
);
grant select, insert on job_events to {app};

create table disputes (
    id uuid primary key,
    job uuid not null references jobs,
    attempt uuid not null references job_attempts,
    side text not null check (side in ('buyer', 'provider')),  -- who opened it
    opener text collate "C" not null,
    trigger text not null,
    statement text not null,
    state text not null check (state in ('open', 'responded', 'under_review', 'resolved')),
    deposit bigint not null check (deposit >= 0),
    hold uuid not null,
    opened_us bigint not null,
    respond_by_us bigint not null,
    response text,
    verdict text collate "C",  -- of the re-verification
    winner text check (winner in ('buyer', 'provider', 'split')),
    reasoning text,
    refund bigint not null default 0 check (refund >= 0),
    owed bigint not null default 0 check (owed >= 0),  -- of that, what could not be taken
    resolved_us bigint,
    unique (attempt, side)  -- each side has one say about an attempt
);
create index disputes_job on disputes (job);
create index disputes_unanswered on disputes (respond_by_us) where state = 'under_review' and response is null;
create index disputes_under_review on disputes (id) where state = 'under_review';
create index disputes_undecided on disputes (attempt) where state <> 'resolved';
grant select, insert,
    update (state, response, verdict, winner, reasoning, refund, owed, resolved_us, respond_by_us)
    on disputes to {app};

-- What could not be taken from who lost: it is taken from what they are paid later. disputes.owed is the sum.
create table dispute_debts (
    dispute uuid not null references disputes,
    n smallint not null,
    debtor text collate "C" not null,  -- an account, and so is the creditor
    creditor text collate "C" not null,
    amount bigint not null check (amount > 0),
    paid bigint not null default 0 check (paid between 0 and amount),
    primary key (dispute, n)
);
create index dispute_debts_open on dispute_debts (debtor, dispute, n) where paid < amount;
grant select, insert, update (paid) on dispute_debts to {app};

create table dispute_rulings (
    dispute uuid not null references disputes,
    operator text collate "C" not null,
    winner text not null check (winner in ('buyer', 'provider', 'split')),
    reasoning text not null,
    at_us bigint not null,
    primary key (dispute, operator)
);
grant select, insert on dispute_rulings to {app};
