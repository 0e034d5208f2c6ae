-- What operators took out of public view, for a legal reason or because of abuse. Nothing is deleted: who may read it again
-- follows from these rows, and they stay as the record of it.
create table takedowns (
    id uuid primary key,
    article uuid references articles,
    source bigint references atoms,
    category text not null check (category in ('legal', 'copyright', 'privacy', 'abuse', 'malware')),
    note text not null,  -- for operators
    operator text not null,
    at_us bigint not null,
    restored_us bigint,
    restored_by text,
    restored_note text,
    check ((article is null) <> (source is null)),
    check ((restored_us is null) = (restored_by is null) and (restored_us is null) = (restored_note is null))
);
create unique index takedowns_article on takedowns (article) where restored_us is null;
create unique index takedowns_source on takedowns (source) where restored_us is null;
grant select, insert, update (restored_us, restored_by, restored_note) on takedowns to {app};

-- The atoms whose content a standing takedown hides: a source, the versions of an article, and sources made of these.
create table taken_atoms (
    atom bigint not null references atoms,
    takedown uuid not null references takedowns,
    primary key (atom, takedown)
);
create index taken_atoms_takedown on taken_atoms (takedown);
grant select, insert, delete on taken_atoms to {app};
