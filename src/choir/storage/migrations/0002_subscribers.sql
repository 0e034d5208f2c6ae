-- What features listen for: how far each subscriber has come, and which events wait to be handled by it.

create table event_subscribers (
    name text collate "C" primary key,
    xid xid8 not null,
    n bigint not null,
    gone_us bigint  -- since then no process of the node knows it; kept for a while, because it may come back
);
grant select, insert, update (xid, n, gone_us), delete on event_subscribers to {app};

-- An event is kept while it waits here.
create table event_deliveries (
    subscriber text collate "C" not null references event_subscribers on delete cascade,
    subject text collate "C" not null,
    xid xid8 not null,
    n bigint not null,
    primary key (subscriber, subject, xid, n),
    foreign key (xid, n) references outbox on update cascade
);
create index event_deliveries_event on event_deliveries (xid, n);
grant select, insert, delete on event_deliveries to {app};
