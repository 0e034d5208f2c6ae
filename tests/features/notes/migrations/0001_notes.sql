create table notes (
    id uuid primary key,
    owner text collate "C" not null,
    text text not null,
    until_us bigint not null
);
grant select, insert, update, delete on notes to {app};

create table notes_heard (
    subject text collate "C" not null
);
grant select, insert on notes_heard to {app};
