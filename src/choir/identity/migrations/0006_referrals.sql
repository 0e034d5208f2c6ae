-- Who brought somebody here: said once, at the sign-up, and good for a time. It goes with either of the two.
create table referrals (
    person uuid primary key references people,
    referrer uuid not null references people,
    since_us bigint not null,
    until_us bigint not null check (until_us >= since_us)
);
create index referrals_referrer on referrals (referrer);
grant select, insert, delete on referrals to {app};
