-- The commons: atoms and their states, sources, articles, publications, challenges, revisions and boosts.

create table atoms (
    id bigint generated always as identity primary key,
    hash bytea not null unique check (length(hash) = 32),
    kind text not null check (kind in (
        'SOURCE', 'EXTRACT', 'CLAIM', 'BINDING', 'OMISSION', 'HYPERTHESIS', 'CONJECTURE', 'SYNTHESIS')),
    state text not null check (state in ('UNTRUSTED', 'QUARANTINED', 'PROMOTION-PENDING', 'PROMOTED', 'RETRACTED')),
    made_us bigint not null
);
create index atoms_public on atoms (kind, id desc) where state <> 'UNTRUSTED';
grant select, insert, update (state) on atoms to {app};

-- Who made an atom; the same content may be made by several. It goes with the person.
create table atom_makers (
    atom bigint not null references atoms,
    owner text collate "C" not null,
    at_us bigint not null,
    primary key (atom, owner)
);
create index atom_makers_owner on atom_makers (owner, atom desc);
grant select, insert, delete on atom_makers to {app};

create table atom_edges (
    atom bigint not null references atoms,
    rests_on bigint not null references atoms,
    primary key (atom, rests_on)
);
create index atom_edges_rests_on on atom_edges (rests_on, atom);
grant select, insert on atom_edges to {app};

-- The words that an atom is found by; gone for atoms that nobody but their erased maker has seen.
create table atom_words (
    atom bigint primary key references atoms,
    words text not null,
    folded text collate "C" not null,  -- the hash of a claim's statement as `assert` compares it
    search tsvector generated always as (to_tsvector('english', words)) stored
);
create index atom_words_search on atom_words using gin (search);
create index atom_words_folded on atom_words (folded) where folded <> '';
grant select, insert, delete on atom_words to {app};

-- Every change of a state, for ever. The pairs are those of the table in atoms/states.py; a second wall.
create table atom_transitions (
    n bigint generated always as identity primary key,
    atom bigint not null references atoms,
    before text,
    after text not null,
    act text not null,
    actor text not null,
    by text collate "C" not null,
    reason text not null,
    evidence jsonb not null,
    at_us bigint not null,
    check ((before is null and after = 'UNTRUSTED') or (before, after) in (
        ('UNTRUSTED', 'QUARANTINED'),
        ('QUARANTINED', 'PROMOTION-PENDING'),
        ('PROMOTION-PENDING', 'QUARANTINED'),
        ('PROMOTION-PENDING', 'PROMOTED'),
        ('PROMOTION-PENDING', 'RETRACTED'),
        ('PROMOTED', 'QUARANTINED'),
        ('PROMOTED', 'RETRACTED')))
);
create index atom_transitions_atom on atom_transitions (atom, n);
grant select, insert on atom_transitions to {app};

-- What needs another look, because of what it rests on. `spread`: whether what rests on it was looked at too.
create table atom_flags (
    atom bigint not null references atoms,
    root bigint not null references atoms,
    at_us bigint not null,
    spread boolean not null default false,
    primary key (atom, root)
);
create index atom_flags_root on atom_flags (root) where not spread;
grant select, insert, delete, update (spread) on atom_flags to {app};

create table sources (
    atom bigint primary key references atoms,
    owner text collate "C",  -- who added it; null once they are erased
    media_type text not null,
    bytes_hash bytea not null,
    text_hash bytea not null,
    size bigint not null,
    chars integer not null check (chars >= 0),
    reader text not null,
    origin text not null,
    url text,
    title text not null,
    added_us bigint not null
);
create index sources_owner on sources (owner, atom desc);
create unique index sources_once on sources (owner, bytes_hash, origin, title, coalesce(url, ''))
    where origin <> 'article';
grant select, insert, delete, update (owner) on sources to {app};

create table source_passages (
    source bigint not null references atoms,
    n integer not null,
    starts integer not null,
    ends integer not null,
    text text not null,
    search tsvector generated always as (to_tsvector('english', text)) stored,
    primary key (source, n)
);
create index source_passages_search on source_passages using gin (search);
grant select, insert, delete on source_passages to {app};

create table attestations (
    atom bigint not null references atoms,
    type text not null,
    hash text collate "C" not null,  -- the attestation itself, an object
    result text not null check (result in ('pass', 'fail', 'undecided', 'not_judged')),
    level text,  -- the highest level that passed
    verifier text not null,
    attester text collate "C" not null,
    at_us bigint not null,
    primary key (atom, type, verifier, attester)
);
grant select, insert on attestations to {app};

create table articles (
    id uuid primary key,
    owner text collate "C" not null,  -- the first author
    state text not null check (state in (
        'draft', 'in_review', 'in_window', 'promoted', 'refused', 'demoted', 'retracted')),
    title text not null,
    topics text[] not null,
    draft integer not null check (draft > 0),  -- the newest one
    versions integer not null default 0,  -- how many were published
    created_us bigint not null,
    changed_us bigint not null
);
create index articles_owner on articles (owner, id desc);
create index articles_promoted on articles (id desc) where state = 'promoted';
grant select, insert, delete, update (owner, state, title, topics, draft, versions, changed_us) on articles to {app};

create table article_authors (
    article uuid not null references articles,
    owner text collate "C" not null,
    since_us bigint not null,
    primary key (article, owner)
);
create index article_authors_owner on article_authors (owner, article);
grant select, insert, delete on article_authors to {app};

create table article_drafts (
    article uuid not null references articles,
    n integer not null check (n > 0),
    title text not null,
    topics text[] not null,
    text text not null,
    saved_by text collate "C" not null,
    saved_us bigint not null,
    primary key (article, n)
);
grant select, insert, delete on article_drafts to {app};

-- A stake: one hold for each place that it came from, so that each goes back there.
create table stakes (
    id uuid primary key,
    owner text collate "C" not null,
    purpose text not null check (purpose in ('article', 'challenge', 'revision')),
    state text not null check (state in ('held', 'returned', 'slashed')),
    amount bigint not null check (amount >= 0),
    placed_us bigint not null,
    ended_us bigint,
    check ((state = 'held') = (ended_us is null))
);
create index stakes_owner on stakes (owner) where state = 'held';
grant select, insert, update (state, ended_us) on stakes to {app};

create table stake_parts (
    stake uuid not null references stakes,
    origin text not null check (origin in ('starter', 'own', 'treasury')),
    hold uuid not null unique,
    amount bigint not null check (amount > 0),
    primary key (stake, origin)
);
grant select, insert on stake_parts to {app};

-- Whom the treasury has co-staked for: once per person.
create table co_stakes (
    person text collate "C" primary key,
    stake uuid not null references stakes
);
grant select, insert on co_stakes to {app};

-- One version of an article on its way: stake, review, window, promotion.
create table publications (
    id uuid primary key,
    article uuid not null references articles,
    version integer not null check (version > 0),
    draft integer not null,
    synthesis bigint not null references atoms,
    owner text collate "C" not null,
    actor text collate "C" not null,
    key text collate "C" not null,
    state text not null check (state in ('in_review', 'in_window', 'promoted', 'refused', 'demoted', 'retracted')),
    stake uuid not null references stakes deferrable initially deferred,
    fee bigint not null check (fee >= 0),
    risk_bps integer not null,
    tier text not null check (tier in ('low', 'medium', 'high')),
    receipt text collate "C" not null,
    review text collate "C",  -- the report, an object
    submitted_us bigint not null,
    reviewed_us bigint,
    window_until_us bigint,
    promoted_us bigint,
    stake_due_us bigint,
    ended_us bigint,
    reason text,  -- why its authors took it back, in their words
    unique (owner, key),
    unique (article, version)
);
create unique index publications_live on publications (article) where state in ('in_review', 'in_window');
create index publications_window on publications (window_until_us) where state = 'in_window';
create index publications_stake on publications (stake_due_us) where stake_due_us is not null;
create index publications_owner on publications (owner, id desc);
grant select, insert, update (
    state, review, reviewed_us, window_until_us, promoted_us, stake_due_us, ended_us, reason) on publications to {app};

create table publication_atoms (
    publication uuid not null references publications,
    atom bigint not null references atoms,
    primary key (publication, atom)
);
create index publication_atoms_atom on publication_atoms (atom);
grant select, insert on publication_atoms to {app};

create table atom_challenges (
    id uuid primary key,
    publication uuid not null references publications,
    atom bigint not null references atoms,
    ground text not null,
    basis text collate "C" not null,  -- of a ground that people decide: what it is argued with
    statement text not null,
    pointers jsonb not null,
    challenger text collate "C" not null,
    actor text collate "C" not null,
    stake uuid not null references stakes deferrable initially deferred,
    state text not null check (state in ('open', 'under_review', 'won', 'lost', 'void')),
    finding jsonb,
    reasoning text,
    opened_us bigint not null,
    decided_us bigint,
    check ((state in ('won', 'lost', 'void')) = (decided_us is not null))
);
-- One at a time on a ground, and none again on a ground on which one was lost.
create unique index atom_challenges_once on atom_challenges (atom, ground, basis)
    where state in ('open', 'under_review', 'lost');
create index atom_challenges_atom on atom_challenges (atom) where state in ('open', 'under_review');
create index atom_challenges_open on atom_challenges (publication) where state in ('open', 'under_review');
create index atom_challenges_publication on atom_challenges (publication, id desc);
create index atom_challenges_challenger on atom_challenges (challenger, id desc);
create index atom_challenges_to_rule on atom_challenges (id) where state = 'under_review';
grant select, insert, update (state, finding, reasoning, decided_us, statement) on atom_challenges to {app};

create table atom_challenge_rulings (
    challenge uuid not null references atom_challenges,
    operator text collate "C" not null,
    upheld boolean not null,
    reasoning text not null,
    at_us bigint not null,
    primary key (challenge, operator)
);
grant select, insert on atom_challenge_rulings to {app};

create table revisions (
    id uuid primary key,
    article uuid not null references articles,
    proposer text collate "C" not null,
    actor text collate "C" not null,
    base integer not null,  -- the draft that it changes
    title text not null,
    topics text[] not null,
    text text not null,
    summary text not null,
    stake uuid not null references stakes deferrable initially deferred,
    state text not null check (state in ('open', 'accepted', 'refused', 'expired', 'split', 'void')),
    opened_us bigint not null,
    until_us bigint not null,
    decided_us bigint
);
create unique index revisions_once on revisions (article, proposer) where state = 'open';
create index revisions_article on revisions (article, id desc);
create index revisions_late on revisions (until_us) where state = 'open';
grant select, insert, update (state, decided_us, text, summary, title, topics) on revisions to {app};

create table revision_votes (
    revision uuid not null references revisions,
    author text collate "C" not null,
    accepts boolean not null,
    at_us bigint not null,
    primary key (revision, author)
);
grant select, insert on revision_votes to {app};

create table boosts (
    id uuid primary key,
    article uuid not null references articles,
    owner text collate "C" not null,
    key text collate "C" not null,
    amount bigint not null,
    from_us bigint not null,
    until_us bigint not null,
    unique (owner, key)
);
create index boosts_article on boosts (article, until_us desc);
create index boosts_live on boosts (until_us);
grant select, insert on boosts to {app};
