-- A handle that reads like another's is refused: the skeleton is what remains of a handle when letters that look
-- alike are written alike. Whoever is here already stays. Where two of them read alike, the older one keeps others
-- away from it, and the younger has no skeleton.

alter table people add column handle_skeleton text collate "C";  -- null: erased, or like one that was there before
update people p set handle_skeleton = s.skeleton
from (
    select distinct on (skeleton) id, skeleton
    from (
        select id, created_us,
            regexp_replace(replace(replace(translate(handle, '01-', 'ol_'), 'm', 'rn'), 'w', 'vv'), '__+', '_', 'g')
                as skeleton
        from people where handle is not null
    ) each
    order by skeleton, created_us, id
) s
where p.id = s.id;
create unique index people_handle_skeleton on people (handle_skeleton);
grant update (handle_skeleton) on people to {app};

-- What was passed on by a token ends with it.
alter table delegations add column by_token uuid references api_tokens;  -- null: by the person, or by an agent's key
create index delegations_by_token on delegations (by_token) where by_token is not null;
