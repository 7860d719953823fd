-- An archived customer releases its contacts without the locks of a claim: who claims one of them waits for its key, which the archive
-- deletes, and the archive waits for nobody. A merge claims what it has released, and takes the locks first. The rest is as before.
create or replace function public.keep_contacts() returns trigger language plpgsql as $$
declare
  organization uuid := coalesce(new.organization_id, old.organization_id);
  held text[] := case when old.archived_at is null then coalesce(old.contact_keys, '{}') else '{}' end;
  wanted text[] := case when new.archived_at is null then coalesce(new.contact_keys, '{}') else '{}' end;
  is_restored boolean := tg_op = 'UPDATE' and old.archived_at is not null and new.archived_at is null;
  changed text[];
  sent text;
  type text;
  key text;
  is_lost boolean := false;
  spoken text[] := '{}';
  stored json;
  latest record;
begin
  if new.archived_at is not null and new.merged_into is null then
    foreach sent in array held loop
      delete from public.customer_contact_keys
      where organization_id = organization and contact_key = substr(sent, strpos(sent, ' ') + 1)
        and identifier_type = split_part(sent, ' ', 1) and customer_id = old.id;
    end loop;
  elsif held <> wanted then
    changed := array(select one from unnest(held || wanted) one where one <> all (held) or one <> all (wanted)
      order by hashtext(one) % 1024);
    foreach sent in array changed loop
      perform pg_advisory_xact_lock(hashtext(organization::text), hashtext(sent) % 1024);
    end loop;
    foreach sent in array changed loop
      continue when sent = any (held);
      type := split_part(sent, ' ', 1);
      key := substr(sent, strpos(sent, ' ') + 1);
      insert into public.customer_contact_keys (organization_id, identifier_type, contact_key, customer_id)
      values (organization, type, key, new.id)
      on conflict do nothing;
      is_lost := not found;
      exit when is_lost;
      -- Most new contacts have no conversation, and need no other look at them.
      continue when not exists (
        select from public.conversations where organization_id = organization and contact_key = key and channel = type);
      spoken := spoken || sent;
      is_lost := exists (
        select from public.conversations where organization_id = organization and contact_key = key and channel = type
          and customer_id is null and id not in (
            select id from public.conversations where organization_id = organization and contact_key = key and channel = type
              and customer_id is null for no key update skip locked));
      exit when is_lost;
    end loop;
    foreach sent in array changed loop
      continue when (sent = any (held)) = is_lost;
      delete from public.customer_contact_keys
      where organization_id = organization and contact_key = substr(sent, strpos(sent, ' ') + 1)
        and identifier_type = split_part(sent, ' ', 1) and customer_id = coalesce(new.id, old.id);
    end loop;
    if is_lost then
      return null;
    end if;
  end if;
  if tg_op = 'DELETE' then
    return old;
  end if;
  if is_restored or new.contacts::text is distinct from old.contacts::text then
    for place in 0 .. cardinality(new.contact_keys) - 1 loop
      sent := new.contact_keys[place + 1];
      stored := old.contacts -> (array_position(old.contact_keys, sent) - 1);
      if stored ->> 'id' <> new.contacts -> place ->> 'id' then
        new.contacts := public.name_contact(new.contacts, place, stored -> 'id', stored -> 'displayName');
      elsif sent = any (spoken) and (is_restored or new.contacts -> place ->> 'displayName' is null) then
        select contact_name, created_at into latest from public.conversations
        where organization_id = organization and contact_key = substr(sent, strpos(sent, ' ') + 1)
          and channel = split_part(sent, ' ', 1) and contact_name is not null
        order by created_at desc nulls last, id desc nulls last limit 1;
        if found and (not is_restored or latest.created_at > old.archived_at) then
          new.contacts := public.name_contact(new.contacts, place, new.contacts -> place -> 'id', to_json(latest.contact_name));
        end if;
      end if;
    end loop;
    -- Another spelling of a number is the same contact.
    if new.contacts::text = old.contacts::text then
      new.contact_search := old.contact_search;
    end if;
  end if;
  return new;
end $$;
