-- Which machine's home an owner said they act from: a hash that only this home can know, another one at each node.
-- Owners of one home are taken for one.
create table owner_homes (
    owner text not null,
    home bytea not null check (length(home) = 32),
    at_us bigint not null,
    primary key (owner, home)
);
create index owner_homes_home on owner_homes (home);
grant select, insert on owner_homes to {app};

create index cluster_links_reason on cluster_links (reason, a, b);
