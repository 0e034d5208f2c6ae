-- A blob becomes an atom only by a transaction that has its owner locked first, as those that are charged have: else one
-- held the object and waited for the owner while another held the owner and waited for the object.

-- Put an object of at most one piece in one call: store it unless it is there, charge its owner unless that was done,
-- keep it for a while, and for a holder if there is one. Where it does not fit beside what the owner has, `used` says
-- how much that is, and nothing was written. Each statement sees what others have committed by then.
-- The owner is locked only if the object is larger than `small`, or comes within `near` of the quota.
create or replace function object_put(
    its_digest bytea, its_kind text, its_size bigint, piece_hash bytea, piece_data bytea,
    its_owner text, its_holder text, now_us bigint, quota bigint, small bigint, near bigint,
    out id bigint, out is_new boolean, out used bigint
) language plpgsql as $$
declare
    known_kind text;
    charge boolean;
    locked boolean := false;
    unsettled bigint;
begin
    if its_owner is not null and not exists (select from object_owners o where o.owner = its_owner) then
        insert into object_owners (owner, used_bytes) values (its_owner, 0) on conflict do nothing;
    end if;
    loop
        select o.id, o.kind into id, known_kind from objects o where o.digest = its_digest for key share;
        is_new := not found;
        charge := its_owner is not null and (is_new or not exists (
            select from object_claims c where c.owner = its_owner and c.object = object_put.id));
        if charge then
            if locked then
                used := object_settle(its_owner);
                if used + its_size > quota then
                    return;
                end if;
            else
                select o.used_bytes - coalesce(sum(r.bytes), 0), count(r.n) into used, unsettled
                    from object_owners o left join object_refunds r on r.owner = o.owner
                    where o.owner = its_owner group by o.used_bytes;
                if its_size > small or used + its_size + near > quota then
                    -- NO KEY: what only points to this row must not have to wait for us.
                    perform from object_owners o where o.owner = its_owner for no key update;
                    locked := true;
                    continue;  -- and look again: others may have been at work meanwhile
                end if;
                if unsettled >= 100 then  -- so that there are never many to be added up; whoever is first does it
                    perform from object_owners o where o.owner = its_owner for no key update skip locked;
                    if found then
                        perform object_settle(its_owner);
                    end if;
                end if;
            end if;
            used := null;
        end if;
        if not is_new then
            if its_kind = 'atom' and known_kind = 'blob' then  -- its bytes are known to be canonical JSON now
                if its_owner is not null and not locked then
                    perform from object_owners o where o.owner = its_owner for no key update;
                end if;
                update objects o set kind = 'atom' where o.id = object_put.id and o.kind = 'blob';
            end if;
            exit;
        end if;
        insert into objects as o (digest, kind, size, created_us) values (its_digest, its_kind, its_size, now_us)
            on conflict (digest) do nothing returning o.id into id;
        if id is not null then
            if its_size > 0 then
                insert into object_pieces (object, n, hash, data) values (id, 0, piece_hash, piece_data);
            end if;
            exit;
        end if;
        -- Another transaction stored it first, and has committed: look again.
    end loop;
    if charge then
        insert into object_claims (owner, object, at_us) values (its_owner, id, now_us) on conflict do nothing;
        charge := found;  -- else the same owner has put it at the same time
        if charge and locked then
            update object_owners o set used_bytes = used_bytes + its_size where o.owner = its_owner;
        elsif charge then
            insert into object_refunds (owner, bytes) values (its_owner, -its_size);
        end if;
    end if;
    insert into object_touches (object, at_us) values (id, now_us);
    if its_holder is not null then
        insert into object_references (holder, object, at_us) values (its_holder, id, now_us) on conflict do nothing;
    end if;
end $$;
