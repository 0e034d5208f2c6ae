-- Passages and their vectors, novelty scores and rewards, citations.

create extension if not exists vector;

create index publications_synthesis on publications (synthesis);
create index publications_promoted on publications (promoted_us) where promoted_us is not null;

-- About 200 words each. Of a source: its passage of that number. Of an article: its own words, without quotes.
create table passages (
    id bigint generated always as identity primary key,
    source bigint references atoms,
    publication uuid references publications deferrable initially deferred,
    article uuid references articles,
    n integer not null check (n >= 0),
    words integer not null check (words > 0),
    text text,  -- null: the source has it
    model text collate "C" not null,
    vector halfvec not null,  -- small whole numbers, which a half holds exactly
    position bigint,  -- from when on it is earlier work, in the order of submissions; null: nobody has published it
    check ((source is null) <> (publication is null)),
    check ((publication is null) = (article is null)),
    check ((publication is null) = (text is null))
);
create unique index passages_source on passages (source, n) where source is not null;
create unique index passages_publication on passages (publication, n) where publication is not null;
create index passages_article on passages (article) where article is not null;
create index passages_position on passages (position) where position is not null;
create index passages_model on passages (model);
-- An index has one number of dimensions; these are those of common models.
create index passages_256 on passages using hnsw ((vector::halfvec(256)) halfvec_cosine_ops)
    with (m = 16, ef_construction = 100) where vector_dims(vector) = 256;
create index passages_384 on passages using hnsw ((vector::halfvec(384)) halfvec_cosine_ops)
    with (m = 16, ef_construction = 100) where vector_dims(vector) = 384;
create index passages_768 on passages using hnsw ((vector::halfvec(768)) halfvec_cosine_ops)
    with (m = 16, ef_construction = 100) where vector_dims(vector) = 768;
create index passages_1024 on passages using hnsw ((vector::halfvec(1024)) halfvec_cosine_ops)
    with (m = 16, ef_construction = 100) where vector_dims(vector) = 1024;
create index passages_1536 on passages using hnsw ((vector::halfvec(1536)) halfvec_cosine_ops)
    with (m = 16, ef_construction = 100) where vector_dims(vector) = 1536;
grant select, insert, delete, update (position, model, vector) on passages to {app};

-- The order of submissions: one row, locked by whoever submits.
create table submissions_head (
    one boolean primary key default true check (one),
    position bigint not null,
    passages bigint not null  -- how many are earlier work
);
insert into submissions_head values (true, 0, 0);
grant select, update (position, passages) on submissions_head to {app};

-- What a submission scored, fixed when it was submitted.
create table novelty_scores (
    publication uuid primary key references publications deferrable initially deferred,
    position bigint not null unique,
    score integer not null check (score between 0 and 100),
    distance_ppm integer not null,
    second_score integer not null,
    words integer not null,  -- that are rewarded; of a revision those that are new
    corpus bigint not null,  -- passages of earlier work at that moment
    model text collate "C" not null,
    calibration text collate "C" not null,
    quoted bigint not null check (quoted >= 0),  -- units of CHIP, before limits
    report jsonb not null  -- reasons and nearest neighbours
);
grant select, insert on novelty_scores to {app};

-- Words of a submission that are nearly those of an earlier article of somebody else.
create table near_copies (
    publication uuid not null references publications deferrable initially deferred,
    original uuid not null references articles,
    words integer not null check (words > 0),
    primary key (publication, original)
);
grant select, insert on near_copies to {app};

-- Rewards, by the month of their promotion. `granted` is less than `nominal` if the month's emission was exceeded.
create table novelty_rewards (
    publication uuid primary key references publications,
    owner text collate "C" not null,  -- whose limit it counts for
    month text collate "C" not null,  -- such as 2026-11
    nominal bigint not null check (nominal >= 0),
    granted bigint not null check (granted >= 0),
    why text not null,
    promoted_us bigint not null,
    settled boolean not null default false,  -- whether the month's scale has been applied
    check (granted <= nominal)
);
create index novelty_rewards_owner on novelty_rewards (owner, month) where nominal > 0;
create index novelty_rewards_month on novelty_rewards (month, publication) where not settled;
grant select, insert, update (nominal, granted, settled) on novelty_rewards to {app};

create table novelty_months (
    month text collate "C" primary key,
    nominal numeric not null,
    closing boolean not null default false,  -- the total is fixed, and rewards are being scaled
    closed boolean not null default false
);
grant select, insert, update (nominal, closing, closed) on novelty_months to {app};

-- An edge from a promoted article to a promoted article, paid once for each pair.
create table citations (
    id uuid primary key,
    citing uuid not null references publications,
    citing_article uuid not null references articles,
    cited uuid not null references publications,
    cited_article uuid not null references articles,
    owner text collate "C" not null,  -- whose cap it counts for
    month text collate "C" not null,
    rate bigint not null,  -- units of USDC
    independence_ppm integer not null check (independence_ppm between 0 and 1000000),
    asked bigint not null,  -- rate times independence
    amount bigint not null,  -- after the cap
    reasons jsonb not null,
    state text not null check (state in ('paid', 'unpaid', 'taken_back')),
    at_us bigint not null,
    unique (citing_article, cited_article),
    check (amount <= asked)
);
create index citations_cited on citations (cited_article, id desc);
create index citations_of on citations (cited);
create index citations_from on citations (citing);
create index citations_cap on citations (owner, month);
grant select, insert, update (state) on citations to {app};

-- How often authors cite each other: what graph discounts are computed from. Weight: one for each pair of articles.
create table author_citations (
    citing text collate "C" not null,
    cited text collate "C" not null,
    n integer not null check (n > 0),
    primary key (citing, cited)
);
create index author_citations_cited on author_citations (cited, citing);
grant select, insert, delete, update (n) on author_citations to {app};

-- Vested citation income, which adds CREDIT.
create table citation_income (
    owner text collate "C" primary key,
    vested bigint not null,
    credited bigint not null  -- how many bonuses were given
);
grant select, insert, update (vested, credited) on citation_income to {app};

create table citation_income_months (
    owner text collate "C" not null,
    month text collate "C" not null,
    vested bigint not null,
    primary key (owner, month)
);
grant select, insert, update (vested) on citation_income_months to {app};

-- The k nearest passages of earlier work to each vector. Few are compared exactly; among many an index is asked.
create function nearest_passages(
    asked halfvec[], of_model text, not_article uuid, after_position bigint, own_sources bigint[], k integer,
    width integer, exactly boolean
) returns table (
    asked_n integer, id bigint, source bigint, publication uuid, article uuid, n integer, words integer, text text,
    vector real[], "position" bigint
) language plpgsql as $$
declare
    dims integer := vector_dims(asked[1]);
    near text;
    i integer;
begin
    perform set_config('hnsw.ef_search', width::text, true);
    perform set_config('hnsw.iterative_scan', 'strict_order', true);
    near := format('p.vector::halfvec(%s) <=> $1::halfvec(%s)', dims, dims);
    if exactly then
        near := '(' || near || ') + 0';  -- no index fits this
    end if;
    for i in 1 .. array_length(asked, 1) loop
        return query execute format(
            'with near as materialized (select p.* from passages p'
            ' where vector_dims(p.vector) = %s and p.model = $2 and (p.position > $3 or p.source = any($4))'
            ' and p.article is distinct from $5 order by %s limit $6)'
            ' select %s, p.id, p.source, p.publication, p.article, p.n, p.words,'
            ' coalesce(p.text, (select s.text from source_passages s where s.source = p.source and s.n = p.n)),'
            ' p.vector::real[], p.position from near p',
            dims, near, i - 1) using asked[i], of_model, after_position, own_sources, not_article, k;
    end loop;
end $$;

-- What search knows of each promoted article: its newest promoted version. No stake, no boost.
create table article_index (
    article uuid primary key references articles,
    publication uuid not null references publications,
    title text not null,
    topics text[] not null,
    author text collate "C" not null,
    confidence_bps integer not null,
    bindings integer not null,
    promoted_us bigint not null,
    words tsvector not null
);
create index article_index_words on article_index using gin (words);
create index article_index_topics on article_index using gin (topics);
create index article_index_new on article_index (promoted_us desc, article);
create index article_index_publication on article_index (publication);
grant select, insert, delete, update on article_index to {app};

create index citations_recent on citations (at_us, cited_article);

-- The articles with the nearest own words, of those that are promoted now.
create function nearest_articles(
    asked halfvec, of_model text, of_topic text, k integer, width integer
) returns table (article uuid, distance double precision) language plpgsql as $$
declare
    dims integer := vector_dims(asked);
begin
    perform set_config('hnsw.ef_search', width::text, true);
    perform set_config('hnsw.iterative_scan', 'strict_order', true);
    return query execute format(
        'with near as materialized ('
        ' select p.publication, p.vector::halfvec(%s) <=> $1::halfvec(%s) as distance from passages p'
        ' where vector_dims(p.vector) = %s and p.model = $2 and p.publication is not null'
        ' order by p.vector::halfvec(%s) <=> $1::halfvec(%s) limit $4)'
        ' select i.article, min(near.distance) from near join article_index i using (publication)'
        ' where $3 is null or $3 = any(i.topics) group by i.article order by 2, 1',
        dims, dims, dims, dims, dims) using asked, of_model, of_topic, k;
end $$;
