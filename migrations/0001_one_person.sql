-- One person is one customer, whatever is written first: a record that names a merged customer gets the survivor, a chat gets the
-- customer that has its contact, and a quote follows its opportunity's customer. Locks: src/db/README.md.

-- A merge and an erasure hold their customers' locks exclusively, so a name is read before or after them. An update by another trigger
-- (depth 2) names a customer that its transaction has locked. Fires before the triggers that compare rows, by its name.
create function public.follow_merge() returns trigger language plpgsql as $$
declare
  locked uuid;
  survivor uuid;
begin
  if new.customer_id is null or new.customer_id is not distinct from old.customer_id or pg_trigger_depth() > 1 then
    return new;
  end if;
  loop
    perform pg_advisory_xact_lock_shared(hashtextextended(concat(new.organization_id, new.customer_id), 0));
    locked := new.customer_id;
    select coalesce(merged_into, id) into survivor from public.customers
    where organization_id = new.organization_id and id = locked;
    -- Of an unknown customer, the foreign key reports the error.
    exit when not found or survivor = locked;
    new.customer_id := survivor;
  end loop;
  return new;
end $$;
--> statement-breakpoint
create trigger opportunities_customer before insert or update of customer_id on opportunities
  for each row execute function public.follow_merge();
--> statement-breakpoint
create trigger conversations_customer before insert or update of customer_id, channel, contact_key on conversations
  for each row execute function public.follow_merge();
--> statement-breakpoint
create trigger quotes_customer before insert or update of customer_id on quotes
  for each row execute function public.follow_merge();
--> statement-breakpoint
-- A conversation with a new contact and without a customer gets the active customer that has the contact. Without one, it holds the lock
-- of the contact until it is committed; the customer that claims the contact next finds it. Fires before conversations_customer.
create function public.find_customer() returns trigger language plpgsql as $$
begin
  if new.customer_id is not null or new.contact_key is null
    or row(old.channel, old.contact_key) is not distinct from row(new.channel, new.contact_key)
  then
    return new;
  end if;
  for attempt in 1 .. 2 loop
    select customer_id into new.customer_id from public.customer_contact_keys
    where organization_id = new.organization_id and contact_key = new.contact_key and identifier_type = new.channel;
    exit when found;
    perform pg_advisory_xact_lock_shared(hashtext(new.organization_id::text),
      hashtext(concat(new.channel, ' ', new.contact_key)) % 1024);
  end loop;
  return new;
end $$;
--> statement-breakpoint
create trigger conversations_contact before insert or update of channel, contact_key on conversations
  for each row execute function public.find_customer();
--> statement-breakpoint
-- Claims the contacts of a live customer, and releases removed ones. The row is not written if another customer has one of them, or if
-- somebody else has locked a conversation that would get the customer: who holds a contact waits for no conversation. There is no error,
-- whose log line would have the contact. A contact that stays keeps id and name; a new one without a name gets that of its latest
-- conversation, and a restored one that of a conversation since. Locks are buckets, so that a load of many customers does not fill the
-- lock table. Statements take scalars, because PostgreSQL plans one with arrays at each run. Fires before customers_touch, by its name.
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
  if held <> wanted then
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
--> statement-breakpoint
-- Conversations without a customer get the one that has claimed their contact: keep_contacts has locked them. After the row, which
-- their foreign key needs.
create function public.link_conversations() returns trigger language plpgsql as $$
declare
  sent text;
begin
  if new.archived_at is null then
    foreach sent in array new.contact_keys loop
      continue when old.archived_at is null and sent = any (old.contact_keys) or not exists (
        select from public.conversations where organization_id = new.organization_id
          and contact_key = substr(sent, strpos(sent, ' ') + 1) and channel = split_part(sent, ' ', 1) and customer_id is null);
      update public.conversations set customer_id = new.id
      where organization_id = new.organization_id and contact_key = substr(sent, strpos(sent, ' ') + 1)
        and channel = split_part(sent, ' ', 1) and customer_id is null;
    end loop;
  end if;
  return null;
end $$;
--> statement-breakpoint
create trigger customers_link after insert or update of contact_keys, archived_at on customers
  for each row execute function public.link_conversations();
--> statement-breakpoint
-- Names the customer's contact after its latest conversation; without an active customer, that of the archived one which the
-- conversation has. Deferred: a transaction locks no conversation after a customer. While the transaction holds the lock of a contact
-- without a customer, no customer claims the contact; the next one finds the name.
create or replace function public.keep_contact_name() returns trigger language plpgsql as $$
declare
  sent text := concat(new.channel, ' ', new.contact_key);
  owner uuid;
  named json;
  is_locked boolean := false;
begin
  if new.contact_key is null or new.contact_name is null or row(old.channel, old.contact_key, old.contact_name)
    is not distinct from row(new.channel, new.contact_key, new.contact_name)
  then
    return null;
  end if;
  for attempt in 1 .. 4 loop
    select customer_id into owner from public.customer_contact_keys
    where organization_id = new.organization_id and contact_key = new.contact_key and identifier_type = new.channel;
    if owner is null and not is_locked then
      perform pg_advisory_xact_lock_shared(hashtext(new.organization_id::text), hashtext(sent) % 1024);
      is_locked := true;
      continue;
    end if;
    exit when coalesce(owner, new.customer_id) is null;
    select public.name_contact(contacts, array_position(contact_keys, sent) - 1,
      contacts -> (array_position(contact_keys, sent) - 1) -> 'id', to_json(new.contact_name))
    into named from public.customers
    where organization_id = new.organization_id and id = coalesce(owner, new.customer_id) and sent = any (contact_keys)
    for no key update;
    if found then
      update public.customers set contacts = named
      where organization_id = new.organization_id and id = coalesce(owner, new.customer_id) and new.id = (
        select id from public.conversations
        where organization_id = new.organization_id and channel = new.channel and contact_key = new.contact_key
          and contact_name is not null
        order by created_at desc nulls last, id desc nulls last limit 1);
    end if;
    -- Without the lock, the customer may have lost the contact in between.
    exit when named is not null or is_locked;
  end loop;
  return null;
end $$;
--> statement-breakpoint
-- Quotes that have the customer of their opportunity, or none, follow it.
create function public.follow_opportunity() returns trigger language plpgsql as $$
begin
  if new.customer_id is distinct from old.customer_id then
    update public.quotes set customer_id = new.customer_id
    where organization_id = new.organization_id and opportunity_id = new.id
      and (customer_id is null or customer_id = old.customer_id);
  end if;
  return null;
end $$;
--> statement-breakpoint
create trigger opportunities_quotes after update of customer_id on opportunities
  for each row execute function public.follow_opportunity();
--> statement-breakpoint
-- Sets published_at when a quote is published without it, and keeps it afterwards. Fires before quotes_touch, by its name.
create or replace function public.date_publication() returns trigger language plpgsql as $$
begin
  new.published_at := coalesce(old.published_at, case when new.status = 'published' then date_trunc('milliseconds', now()) end);
  return new;
end $$;
--> statement-breakpoint
create or replace trigger quotes_publish before insert or update on quotes
  for each row when (new.published_at is null) execute function public.date_publication();
