-- The market: who sells work, at which prices, with what record, and who has a free slot now.
--
-- What a selection reads is in two tables: provider_market (one row for each provider: what changes with
-- every job and heartbeat, and what it is judged by) and provider_offers (one row for each type it sells).
-- Locks: provider_market rows, several of them in order of id, after the job's row and before the ledger's head.

create table providers (
    id uuid primary key,
    owner text collate "C" not null unique,  -- one provider for each person or agent
    owner_cluster text collate "C" not null,  -- who the owner was taken for when the record was last built
    result_key bytea not null check (length(result_key) = 32),  -- BIP-340; signs results and trajectories
    name text,  -- empty once its owner was erased; so is the model
    model text,  -- as claimed
    registered_us bigint not null,
    retired_us bigint
);
create index providers_cluster on providers (owner_cluster);
grant select, insert, update (owner_cluster, result_key, name, model, retired_us) on providers to {app};

-- Every key that ever signed for a provider: a key is never taken by another one.
create table provider_keys (
    public bytea primary key check (length(public) = 32),
    provider uuid not null references providers,
    since_us bigint not null
);
create index provider_keys_provider on provider_keys (provider, since_us);
grant select, insert on provider_keys to {app};

create table provider_market (
    provider uuid primary key references providers,
    shuffle bigint not null check (shuffle >= 0),  -- random and fixed: breaks ties without a favourite
    region text collate "C" not null,  -- as claimed, such as eu-west; its area is what stands before the hyphen
    area text collate "C" not null,
    isolation smallint not null check (isolation between 1 and 5),  -- as claimed
    capacity integer not null check (capacity between 1 and 1000),  -- as declared
    busy_elsewhere integer not null default 0 check (busy_elsewhere >= 0),
    tier smallint not null default 0 check (tier between 0 and 3),
    slots integer not null check (slots >= 0),  -- min(capacity less what is busy elsewhere, the tier's most)
    in_use integer not null default 0 check (in_use >= 0),
    alive_until_us bigint not null default 0,
    silent boolean not null default true,  -- off the market until the next heartbeat
    healthy boolean not null default false,
    draining boolean not null default false,
    retired boolean not null default false,
    version text not null default '',  -- of its software, as claimed
    success_bps integer check (success_bps between 0 and 10000),  -- null: no record yet
    reputation_bps integer not null default 0 check (reputation_bps between 0 and 10000),
    newcomer boolean not null default true,
    -- The index holds only those who can take a job. Counting a job in or out does not touch the index, unless
    -- a provider becomes full or free by it; nor does a heartbeat.
    available boolean not null generated always as
        (in_use < slots and healthy and not silent and not draining and not retired) stored
) with (fillfactor = 70);
create index provider_market_available on provider_market (provider) where available;
create index provider_market_newcomers on provider_market (shuffle) where available and newcomer;
create index provider_market_heard on provider_market (provider) where not silent;
grant select, insert, update on provider_market to {app};

create table provider_slots (
    provider uuid not null references providers,
    job uuid not null,
    at_us bigint not null,
    primary key (provider, job)
);
grant select, insert, delete on provider_slots to {app};

-- Price books can only grow. A version is in force from its time on, unless a later one was published before.
create table price_books (
    provider uuid not null references providers,
    type text collate "C" not null,
    version integer not null check (version > 0),
    base bigint not null check (base >= 0),
    per_unit bigint not null check (per_unit >= 0),
    cap bigint not null check (cap >= 0),
    published_us bigint not null,
    effective_us bigint not null check (effective_us >= published_us),
    actor text collate "C" not null,
    primary key (provider, type, version)
);
grant select, insert on price_books to {app};
create trigger append_only before update or delete or truncate on price_books execute function refuse_change();
alter table price_books enable always trigger append_only;

create table provider_offers (
    provider uuid not null references provider_market,
    type text collate "C" not null,
    offered boolean not null,
    qualification text not null check (qualification in ('needed', 'running', 'passed', 'failed')),
    qualifying_job uuid,
    qualified_us bigint,
    retry_us bigint not null default 0,  -- when a qualification may begin (again)
    failed_in_row integer not null default 0 check (failed_in_row >= 0),  -- qualifications or jobs, the last ones
    version integer not null,  -- the book in force, and the one that comes next, if any
    base bigint not null,
    per_unit bigint not null,
    cap bigint not null,
    next_us bigint,
    next_version integer,
    next_base bigint,
    next_per_unit bigint,
    next_cap bigint,
    -- The most points that price and reputation can give to this offer, by the policy of that name: selections
    -- go from the top and stop when nobody below can do better.
    promise integer not null default 10000,
    promised_by integer not null default 0,
    selectable boolean not null generated always as (offered and qualification = 'passed') stored,
    primary key (provider, type)
);
create index provider_offers_type on provider_offers (type, promise desc) where selectable;
create index provider_offers_promised on provider_offers (type, promised_by) where selectable;
create index provider_offers_waiting on provider_offers (retry_us, provider) where offered and qualification <> 'passed';
grant select, insert, update on provider_offers to {app};

-- What came of each try. A ruling in a dispute may replace what was noted; the events tell what was before.
create table provider_outcomes (
    provider uuid not null references providers,
    job uuid not null,
    attempt integer not null check (attempt > 0),
    type text collate "C" not null,
    buyer text collate "C" not null,
    buyer_cluster text collate "C" not null,
    passed boolean not null,
    price bigint not null check (price >= 0),
    ceiling_bps integer not null check (ceiling_bps between 0 and 10000),  -- what the caller allows to count
    independence_bps integer not null check (independence_bps between 0 and 10000),  -- what counts
    latency_us bigint not null check (latency_us >= 0),
    at_us bigint not null,
    reason text not null,
    primary key (provider, job, attempt)
);
create index provider_outcomes_buyer on provider_outcomes (buyer, provider);
create index provider_outcomes_time on provider_outcomes (provider, at_us desc, job);
grant select, insert, update (type, buyer, buyer_cluster, passed, price, ceiling_bps, independence_bps, latency_us,
    at_us, reason) on provider_outcomes to {app};

-- Sums of those outcomes, by buyer and over all buyers. Jobs are counted in ten-thousandths, by independence.
create table provider_buyers (
    provider uuid not null references providers,
    cluster text collate "C" not null,
    jobs bigint not null default 0,
    passed bigint not null default 0,
    weight bigint not null default 0,
    passed_weight bigint not null default 0,
    tier_weight bigint not null default 0,
    tier_passed_weight bigint not null default 0,
    volume bigint not null default 0,
    organic bigint not null default 0,  -- volume weighted by independence, before what came back is taken off
    returned bigint not null default 0,  -- what the provider's own cluster paid to this buyer's
    primary key (provider, cluster)
);
grant select, insert, update, delete on provider_buyers to {app};

create table provider_records (
    provider uuid primary key references providers,
    jobs bigint not null default 0,
    passed bigint not null default 0,
    weight bigint not null default 0,
    tier_weight bigint not null default 0,
    tier_passed_weight bigint not null default 0,
    buyers integer not null default 0,
    volume bigint not null default 0,
    organic bigint not null default 0,
    voice bigint not null default 0,
    good bigint not null default 0
);
grant select, insert, update on provider_records to {app};
