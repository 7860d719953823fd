-- Extensions and functions, then each table with its indexes and triggers. src/db/tables says what each table holds. The owner of
-- the database may create these extensions: they are trusted.
create extension if not exists pg_trgm with schema public;
create extension if not exists unaccent with schema public;
create extension if not exists btree_gin with schema public;

-- Without case, accents and repeated spaces. unaccent() is stable only because it finds its dictionary by search_path; here the dictionary is named.
-- NFKC first: a mark folds like a precomposed letter. Most text is normalized, and the check is cheaper. Σ has two lower cases.
create function public.fold_text(value text) returns text
  language sql immutable strict parallel safe
  return replace(lower(regexp_replace(public.unaccent('public.unaccent'::regdictionary,
    case when value is nfkc normalized then value else normalize(value, nfkc) end), ' {2,}', ' ', 'g')), 'ς', 'σ');

-- A LIKE pattern for a substring. Escaped after folding, which can produce a % or _.
create function public.contains_pattern(value text) returns text
  language sql immutable strict parallel safe
  return '%' || replace(replace(replace(btrim(public.fold_text(value)), '\', '\\'), '%', '\%'), '_', '\_') || '%';

-- Drops an update that changes nothing; any other sets updated_at. It always grows, even within a millisecond or if the clock was
-- set back: entity tags and the order of lists depend on it. *= compares bytes, because json has no equality.
create function public.touch_record() returns trigger language plpgsql as $$
begin
  if new *= old then return null; end if;
  new.updated_at := greatest(now(), old.updated_at + interval '1 millisecond');
  return new;
end $$;

-- Rejects a text of so many bytes, with a SQLSTATE of its own. The message has no value of the record: PostgreSQL logs it.
create function public.reject_above(maximum integer, bytes integer, bounded text) returns void language plpgsql as $$
begin
  if bytes > maximum then
    raise exception 'as JSON in UTF-8, % can have % bytes, and would have %', bounded, maximum, bytes using errcode = 'TL001';
  end if;
end $$;

-- Moves a record from one total of a list to another; the value of a record that is not in the list is null. Each connection writes
-- its own slot, so that concurrent creates do not wait for each other's commit; the lower value is written first, so that two
-- connections with the same slot do not deadlock.
create function public.move_live_count(organization uuid, counted text, was text, becomes text) returns void
  language plpgsql as $$
begin
  if was is not distinct from becomes then return; end if;
  if was is null or becomes is null then
    insert into public.live_counts (organization_id, resource, value, slot, live)
    values (organization, counted, coalesce(was, becomes), pg_backend_pid() % 16, case when was is null then 1 else -1 end)
    on conflict (organization_id, resource, value, slot) do update set live = live_counts.live + excluded.live;
  else
    insert into public.live_counts (organization_id, resource, value, slot, live)
    select organization, counted, value, pg_backend_pid() % 16, amount from (values (was, -1), (becomes, 1)) as moved (value, amount) order by value
    on conflict (organization_id, resource, value, slot) do update set live = live_counts.live + excluded.live;
  end if;
end $$;

create table organizations (
  id uuid primary key not null, name text not null,
  created_at timestamptz(3) default now() not null,
  closed_at timestamptz(3),
  purge_began_at timestamptz(3)
);

create table purged_organizations (
  id uuid primary key not null, closed_at timestamptz(3) not null,
  purged_at timestamptz(3) default now() not null
);

create table api_keys (
  organization_id uuid not null, id uuid not null,
  name text not null, hash bytea not null,
  start text not null, last4 text not null,
  access text not null,
  resources text[],
  requests_per_minute integer,
  created_at timestamptz(3) default now() not null,
  last_used_at timestamptz(3), expires_at timestamptz(3), revoked_at timestamptz(3),
  replaced_by uuid,
  constraint api_keys_pkey primary key (organization_id, id),
  constraint api_keys_organization_fkey foreign key (organization_id) references organizations (id)
);
create unique index api_keys_hash_key on api_keys (hash);

create table team_members (
  organization_id uuid not null, id uuid not null,
  user_id text not null, name text not null, email text not null,
  roles text[] default '{}'::text[] not null, is_assignable boolean default true not null,
  created_at timestamptz(3) default now() not null, updated_at timestamptz(3) default now() not null, archived_at timestamptz(3),
  constraint team_members_pkey primary key (organization_id, id),
  constraint team_members_organization_fkey foreign key (organization_id) references organizations (id)
);
create index team_members_live_idx on team_members (organization_id, created_at, id) where archived_at is null;
create index team_members_archived_idx on team_members (organization_id, archived_at desc nulls last, id desc nulls last) where archived_at is not null;
create unique index team_members_user_key on team_members (user_id, organization_id) where archived_at is null;
create trigger team_members_touch before update on team_members for each row execute function public.touch_record();

create table pipeline_stages (
  organization_id uuid not null, id uuid not null,
  key text not null, name text not null, position integer default 0 not null,
  created_at timestamptz(3) default now() not null, updated_at timestamptz(3) default now() not null, archived_at timestamptz(3),
  constraint pipeline_stages_pkey primary key (organization_id, id),
  constraint pipeline_stages_organization_fkey foreign key (organization_id) references organizations (id)
);
create unique index pipeline_stages_live_key on pipeline_stages (organization_id, key) where archived_at is null;
create index pipeline_stages_archived_idx on pipeline_stages (organization_id, archived_at desc nulls last, id desc nulls last) where archived_at is not null;
create trigger pipeline_stages_touch before update on pipeline_stages for each row execute function public.touch_record();

create table products (
  organization_id uuid not null, id uuid not null,
  created_at timestamptz(3) default now() not null, updated_at timestamptz(3) default now() not null, archived_at timestamptz(3),
  type text not null, status text not null,
  pricing_mode text not null,
  budget_tier text,
  capacity_min integer, capacity_max integer,
  currency text,
  duration_days integer, duration_hours double precision,
  from_price numeric, price_max numeric, price_basis text,
  valid_from text, valid_until text,
  external_reference_code text,
  operator text, cover_image text,
  title text not null,
  destinations text[] default '{}'::text[] not null,
  includes text[] default '{}'::text[] not null, excludes text[] default '{}'::text[] not null,
  gallery text[] default '{}'::text[] not null,
  variants json default '[]'::json not null,
  short_description text, special_conditions text, description text,
  constraint products_pkey primary key (organization_id, id),
  constraint products_organization_fkey foreign key (organization_id) references organizations (id)
);
create index products_live_idx on products (organization_id, updated_at desc nulls last, id desc nulls last) where archived_at is null;
create index products_created_idx on products (organization_id, created_at, updated_at, id) where archived_at is null;
create index products_status_idx on products (organization_id, status, updated_at desc nulls last, id desc nulls last, type, budget_tier) where archived_at is null;
create index products_type_idx on products (organization_id, type, updated_at desc nulls last, id desc nulls last, budget_tier) where archived_at is null;
create index products_budget_tier_idx on products (organization_id, budget_tier, updated_at desc nulls last, id desc nulls last) where archived_at is null;
create index products_external_reference_code_idx on products (organization_id, external_reference_code, updated_at desc nulls last, id desc nulls last) where archived_at is null and external_reference_code is not null;
create index products_archived_idx on products (organization_id, archived_at desc nulls last, id desc nulls last) where archived_at is not null;
create index products_due_idx on products (archived_at, organization_id, id) where archived_at is not null;
create trigger products_touch before update on products for each row execute function public.touch_record();

-- With 16 KiB in the longest columns, no product is too large: JSON has at most six bytes for one. An archive only adds its timestamp.
create function public.bound_product() returns trigger language plpgsql as $$
begin
  if new.archived_at is null and octet_length(concat(new.description, new.special_conditions, new.short_description, new.cover_image,
    new.variants, new.destinations, new.includes, new.excludes, new.gallery)) > 16384
  then
    perform public.reject_above(131072, octet_length(row_to_json(new)::text), 'a product with its variants');
  end if;
  return new;
end $$;
create trigger products_size before insert or update on products for each row execute function public.bound_product();

create table searchable_products (
  organization_id uuid not null, id uuid not null, search text not null,
  type text not null, status text not null,
  budget_tier text,
  external_reference_code text,
  destinations text[] default '{}'::text[] not null,
  constraint searchable_products_pkey primary key (organization_id, id)
);
create index searchable_products_search_idx on searchable_products using gin (organization_id, destinations, search gin_trgm_ops) with (fastupdate = true, gin_pending_list_limit = 512);

-- U+001F separates the texts: no search matches across two of them. An entry of a GIN index has at most 2.7 kB: longer
-- destinations are not indexed. The function compares the texts, because PostgreSQL plans the `when` clause of a trigger at each statement.
create function public.derive_from_product() returns trigger language plpgsql as $$
declare
  was text := case when old.archived_at is null then old.status end;
  becomes text := case when new.archived_at is null then new.status end;
  -- Citus takes no subquery among the values of an insert.
  indexed text[] := array(select entry from unnest(new.destinations) entry where length(entry) <= 600);
begin
  perform public.move_live_count(coalesce(new.organization_id, old.organization_id), 'products', was, becomes);
  if becomes is null then
    delete from public.searchable_products where organization_id = old.organization_id and id = old.id;
  elsif was is null
    or row(old.title, old.short_description, old.description, old.type, old.status, old.budget_tier, old.external_reference_code, old.destinations)
      is distinct from row(new.title, new.short_description, new.description, new.type, new.status, new.budget_tier, new.external_reference_code, new.destinations)
  then
    insert into public.searchable_products (organization_id, id, search, type, status, budget_tier, external_reference_code, destinations)
    values (new.organization_id, new.id, public.fold_text(concat_ws(chr(31), new.title, new.short_description, new.description)), new.type, new.status, new.budget_tier, new.external_reference_code, indexed)
    on conflict (organization_id, id) do update set search = excluded.search, type = excluded.type, status = excluded.status, budget_tier = excluded.budget_tier, external_reference_code = excluded.external_reference_code, destinations = excluded.destinations;
  end if;
  return null;
end $$;
create trigger products_derive after insert or delete
  or update of title, short_description, description, destinations, type, status, budget_tier, external_reference_code, archived_at on products
  for each row execute function public.derive_from_product();

create table customers (
  organization_id uuid not null, id uuid not null,
  created_at timestamptz(3) default now() not null, updated_at timestamptz(3) default now() not null, archived_at timestamptz(3),
  merged_into uuid,
  preferred_language text,
  first_name text, last_name text,
  city text, country text,
  tags text[] default '{}'::text[] not null,
  contacts json default '[]'::json not null,
  contact_keys text[] default '{}'::text[] not null,
  contact_search text default '' not null,
  summary text,
  constraint customers_pkey primary key (organization_id, id),
  constraint customers_organization_fkey foreign key (organization_id) references organizations (id),
  constraint customers_merged_into_fkey foreign key (organization_id, merged_into) references customers (organization_id, id) on delete cascade
);
create index customers_live_idx on customers (organization_id, updated_at desc nulls last, id desc nulls last) where archived_at is null;
create index customers_created_idx on customers (organization_id, created_at, updated_at, id) where archived_at is null;
create index customers_archived_idx on customers (organization_id, archived_at desc nulls last, id desc nulls last) where archived_at is not null;
create index customers_merged_into_idx on customers (organization_id, merged_into) where merged_into is not null;
create index customers_archived_contacts_idx on customers using gin (organization_id, contact_keys) with (fastupdate = true, gin_pending_list_limit = 512) where archived_at is not null;
create trigger customers_touch before update on customers for each row execute function public.touch_record();

-- No foreign key: a contact is claimed before its customer is written.
create table customer_contact_keys (
  organization_id uuid not null,
  identifier_type text not null, contact_key text not null, customer_id uuid not null,
  constraint customer_contact_keys_pkey primary key (organization_id, contact_key, identifier_type)
);

-- Sets the id and the name of the contact at a place, which begins at 0. Without a place, nothing changes.
create function public.name_contact(contacts json, place integer, id json, name json) returns json
  language sql stable parallel safe
  return coalesce(replace(contacts::text, (contacts -> place)::text, concat('{"id":', id,
    ',"identifierType":', contacts -> place -> 'identifierType', ',"identifierValue":', contacts -> place -> 'identifierValue',
    ',"displayName":', coalesce(name, 'null'), ',"phoneNumber":', contacts -> place -> 'phoneNumber', '}'))::json, contacts);

-- Claims the contacts of an active customer, and releases removed ones. The row is not written if another customer has one of them, or
-- if somebody else has locked a conversation that would get the customer: who holds a contact waits for no conversation. There is no
-- error, whose log line would have the contact. A contact that stays keeps id and name; a new or restored one gets the name of
-- its latest conversation. An archived customer releases its contacts without locks: who
-- claims one of them waits for its key, which the archive deletes. Locks are buckets, so that a load of many customers does not fill
-- the lock table. Statements take scalars, because PostgreSQL plans one with arrays at each run. Fires before customers_touch, by its name.
create function public.keep_contacts() returns trigger language plpgsql as $$
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
  latest text;
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
    if is_lost then return null; end if;
  end if;
  if tg_op = 'DELETE' then return old; end if;
  if is_restored or new.contacts::text is distinct from old.contacts::text then
    for place in 0 .. cardinality(new.contact_keys) - 1 loop
      sent := new.contact_keys[place + 1];
      stored := old.contacts -> (array_position(old.contact_keys, sent) - 1);
      if stored ->> 'id' <> new.contacts -> place ->> 'id' then
        new.contacts := public.name_contact(new.contacts, place, stored -> 'id', stored -> 'displayName');
      elsif is_restored or sent = any (spoken) or stored is null and new.contacts -> place ->> 'displayName' is not null then
        select contact_name into latest from public.conversations
        where organization_id = organization and contact_key = substr(sent, strpos(sent, ' ') + 1)
          and channel = split_part(sent, ' ', 1) and contact_name is not null
        order by created_at desc nulls last, id desc nulls last limit 1;
        new.contacts := public.name_contact(new.contacts, place, new.contacts -> place -> 'id', to_json(latest));
      end if;
    end loop;
    -- Another spelling of a number is the same contact.
    if new.contacts::text = old.contacts::text then new.contact_search := old.contact_search; end if;
  end if;
  return new;
end $$;
create trigger customers_contacts before insert or delete or update of contacts, contact_keys, archived_at on customers
  for each row execute function public.keep_contacts();

-- Without what is derived from its contacts. Fires after customers_contacts, which names contacts, by its name. A customer without
-- space for a name from a conversation (an update by another trigger) stays as it is: the conversation is not rejected.
create function public.bound_customer() returns trigger language plpgsql as $$
declare
  bounded public.customers;
  bytes integer;
begin
  if new.archived_at is null and octet_length(concat(new.summary, new.contacts, new.tags)) > 8192 then
    bounded := new;
    bounded.contact_keys := '{}';
    bounded.contact_search := '';
    bytes := octet_length(row_to_json(bounded)::text);
    if bytes > 65536 and pg_trigger_depth() > 1 then return null; end if;
    perform public.reject_above(65536, bytes, 'a customer');
  end if;
  return new;
end $$;
create trigger customers_size before insert or update on customers for each row execute function public.bound_customer();

-- A record that names a merged customer gets the one that it became. A merge locks its customers for update: the select waits for it,
-- and returns the row that it wrote. An update by another trigger (depth 2) names a customer that its transaction has locked. Fires
-- before the triggers that compare rows, by its name.
create function public.follow_merge() returns trigger language plpgsql as $$
declare
  survivor uuid;
begin
  while new.customer_id is distinct from old.customer_id and pg_trigger_depth() = 1 loop
    select coalesce(merged_into, id) into survivor from public.customers
    where organization_id = new.organization_id and id = new.customer_id for key share;
    -- Of an unknown customer, the foreign key reports the error.
    exit when not found or survivor = new.customer_id;
    new.customer_id := survivor;
  end loop;
  return new;
end $$;

create table erasures (
  organization_id uuid not null,
  customer_id uuid not null,
  erased_at timestamptz(3) default now() not null, erased json not null, same_contacts uuid[] not null,
  constraint erasures_pkey primary key (organization_id, customer_id),
  constraint erasures_customer_fkey foreign key (organization_id, customer_id) references customers (organization_id, id) on delete cascade
);

create table searchable_customers (
  organization_id uuid not null, id uuid not null, search text not null,
  tags text[] default '{}'::text[] not null,
  constraint searchable_customers_pkey primary key (organization_id, id)
);
create index searchable_customers_search_idx on searchable_customers using gin (organization_id, tags, search gin_trgm_ops) with (fastupdate = true, gin_pending_list_limit = 512);

-- First and last name are one text: a search for both finds the customer.
create function public.derive_from_customer() returns trigger language plpgsql as $$
declare
  was text := case when old.id is not null and old.archived_at is null then '' end;
  becomes text := case when new.id is not null and new.archived_at is null then '' end;
begin
  perform public.move_live_count(coalesce(new.organization_id, old.organization_id), 'customers', was, becomes);
  if becomes is null then
    delete from public.searchable_customers where organization_id = old.organization_id and id = old.id;
  elsif was is null or row(old.first_name, old.last_name, old.contact_search, old.summary, old.tags)
    is distinct from row(new.first_name, new.last_name, new.contact_search, new.summary, new.tags)
  then
    insert into public.searchable_customers (organization_id, id, search, tags)
    values (new.organization_id, new.id, public.fold_text(concat_ws(chr(31), concat_ws(' ', nullif(new.first_name, ''), nullif(new.last_name, '')), new.summary,
      new.contact_search)), new.tags)
    on conflict (organization_id, id) do update set search = excluded.search, tags = excluded.tags;
  end if;
  return null;
end $$;
create trigger customers_derive after insert or delete
  or update of first_name, last_name, contact_search, summary, tags, archived_at on customers
  for each row execute function public.derive_from_customer();

create table opportunities (
  organization_id uuid not null, id uuid not null,
  title text,
  short_ref text,
  destination text,
  customer_id uuid,
  seller_member_id uuid,
  budget_min numeric, budget_max numeric, budget_currency text,
  check_in_date text, nights integer, passenger_count integer,
  sales_stage text not null, stage_id uuid,
  temperature text,
  temperature_override text,
  qualified_at timestamptz(3), last_activity_at timestamptz(3),
  created_at timestamptz(3) default now() not null, updated_at timestamptz(3) default now() not null, archived_at timestamptz(3),
  constraint opportunities_pkey primary key (organization_id, id),
  constraint opportunities_organization_fkey foreign key (organization_id) references organizations (id),
  constraint opportunities_customer_fkey foreign key (organization_id, customer_id) references customers (organization_id, id),
  constraint opportunities_seller_member_fkey foreign key (organization_id, seller_member_id) references team_members (organization_id, id),
  constraint opportunities_stage_fkey foreign key (organization_id, stage_id) references pipeline_stages (organization_id, id)
);
create index opportunities_live_idx on opportunities (organization_id, updated_at desc nulls last, id desc nulls last) where archived_at is null;
create index opportunities_created_idx on opportunities (organization_id, created_at, updated_at, id) where archived_at is null;
create index opportunities_sales_stage_idx on opportunities (organization_id, sales_stage, updated_at desc nulls last, id desc nulls last, stage_id) where archived_at is null;
create index opportunities_customer_idx on opportunities (organization_id, customer_id, updated_at desc nulls last, id desc nulls last) where customer_id is not null;
create index opportunities_temperature_idx on opportunities (organization_id, coalesce(temperature_override, temperature), updated_at desc nulls last, id desc nulls last, temperature_override, temperature, sales_stage, stage_id, seller_member_id) where archived_at is null;
create index opportunities_seller_idx on opportunities (organization_id, seller_member_id, updated_at desc nulls last, id desc nulls last, sales_stage, stage_id, temperature_override, temperature) where archived_at is null;
create index opportunities_archived_idx on opportunities (organization_id, archived_at desc nulls last, id desc nulls last) where archived_at is not null;
create index opportunities_no_customer_idx on opportunities (organization_id, updated_at desc nulls last, id desc nulls last) where customer_id is null and archived_at is null;
create index opportunities_of_stage_idx on opportunities (organization_id, stage_id, updated_at desc nulls last, id desc nulls last, sales_stage, seller_member_id, temperature_override, temperature) where archived_at is null;

-- A stage that is set without qualified_at sets it; once in the pipeline, null does not clear it. Fires before opportunities_touch.
create function public.date_qualification() returns trigger language plpgsql as $$
begin
  new.qualified_at := coalesce(old.qualified_at, date_trunc('milliseconds', now()));
  return new;
end $$;
create trigger opportunities_qualify before insert or update on opportunities
  for each row when (new.stage_id is not null and new.qualified_at is null) execute function public.date_qualification();
create trigger opportunities_touch before update on opportunities for each row execute function public.touch_record();
create trigger opportunities_customer before insert or update of customer_id on opportunities
  for each row execute function public.follow_merge();

create table searchable_opportunities (
  organization_id uuid not null, id uuid not null, search text not null,
  constraint searchable_opportunities_pkey primary key (organization_id, id)
);
create index searchable_opportunities_search_idx on searchable_opportunities using gin (organization_id, search gin_trgm_ops) with (fastupdate = true, gin_pending_list_limit = 512);

create function public.derive_from_opportunity() returns trigger language plpgsql as $$
declare
  was text := case when old.archived_at is null then old.sales_stage end;
  becomes text := case when new.archived_at is null then new.sales_stage end;
begin
  perform public.move_live_count(coalesce(new.organization_id, old.organization_id), 'opportunities',
    case when was is not null then '' end, case when becomes is not null then '' end);
  perform public.move_live_count(coalesce(new.organization_id, old.organization_id), 'opportunities.sales_stage', was, becomes);
  if becomes is null then
    delete from public.searchable_opportunities where organization_id = old.organization_id and id = old.id;
  elsif was is null or row(old.title, old.short_ref, old.destination)
    is distinct from row(new.title, new.short_ref, new.destination)
  then
    insert into public.searchable_opportunities (organization_id, id, search)
    values (new.organization_id, new.id, public.fold_text(concat_ws(chr(31), new.title, new.short_ref, new.destination)))
    on conflict (organization_id, id) do update set search = excluded.search;
  end if;
  return null;
end $$;
create trigger opportunities_derive after insert or delete
  or update of title, short_ref, destination, sales_stage, archived_at on opportunities
  for each row execute function public.derive_from_opportunity();

create table conversations (
  organization_id uuid not null, id uuid not null,
  channel text not null, contact text not null,
  contact_name text,
  contact_key text,
  customer_id uuid,
  activity_state text, controlled_by text, language text,
  rotated_from uuid, continued_by uuid, chain_id uuid not null,
  message_count integer default 0 not null, last_message_at timestamptz(3),
  created_at timestamptz(3) default now() not null, updated_at timestamptz(3) default now() not null,
  constraint conversations_pkey primary key (organization_id, id),
  constraint conversations_organization_fkey foreign key (organization_id) references organizations (id),
  constraint conversations_customer_fkey foreign key (organization_id, customer_id) references customers (organization_id, id),
  constraint conversations_rotated_from_fkey foreign key (organization_id, rotated_from) references conversations (organization_id, id)
);
create unique index conversations_rotated_from_key on conversations (organization_id, rotated_from) where rotated_from is not null;
create index conversations_contact_idx on conversations (organization_id, contact_key, channel, created_at desc nulls last, id desc nulls last) where contact_key is not null;
create index conversations_chain_idx on conversations (organization_id, chain_id) where chain_id is not null;
create index conversations_customer_idx on conversations (organization_id, customer_id, chain_id) where customer_id is not null;
create index conversations_newest_idx on conversations (organization_id, last_message_at desc nulls last, id desc nulls last) where continued_by is null;
create index conversations_created_idx on conversations (organization_id, created_at, last_message_at, id) where continued_by is null;
create index conversations_updated_idx on conversations (organization_id, updated_at, last_message_at, id) where continued_by is null;
create index conversations_channel_idx on conversations (organization_id, channel, last_message_at desc nulls last, id desc nulls last) where continued_by is null;
create index conversations_activity_state_idx on conversations (organization_id, activity_state, last_message_at desc nulls last, id desc nulls last, channel) where continued_by is null;
create index conversations_controlled_by_idx on conversations (organization_id, controlled_by, last_message_at desc nulls last, id desc nulls last, channel) where continued_by is null;
create index conversations_no_customer_idx on conversations (organization_id, last_message_at desc nulls last, id desc nulls last) where customer_id is null and continued_by is null;
create trigger conversations_touch before update on conversations for each row execute function public.touch_record();

-- Whoever reads `updatedSince` sees the newest thread of a chain. The first statement waits for one that continues it; the second finds that.
create function public.touch_chain() returns trigger language plpgsql as $$
begin
  perform from public.conversations where organization_id = new.organization_id and chain_id = new.chain_id and continued_by is null for no key update;
  update public.conversations set updated_at = '-infinity' where organization_id = new.organization_id and chain_id = new.chain_id and continued_by is null and updated_at < new.updated_at;
  return null;
end $$;
create trigger conversations_chain after update on conversations for each row
  when (old.continued_by is not null) execute function public.touch_chain();
create trigger conversations_customer before insert or update of customer_id, channel, contact_key on conversations
  for each row execute function public.follow_merge();

-- A write of a conversation's contact that names no customer gives it the active one that has the contact; without one, that which
-- it had, or that of the thread that it continues. The nil id names nobody. A thread that has no customer holds the lock of the
-- contact until it is committed; the customer that claims the contact next finds it. Fires before conversations_customer.
create function public.find_customer() returns trigger language plpgsql as $$
begin
  if new.customer_id = '00000000-0000-0000-0000-000000000000' then
    new.customer_id := null;
    return new;
  elsif new.customer_id is not null then
    return new;
  end if;
  for attempt in 1 .. 2 loop
    exit when new.contact_key is null;
    -- Waits for an erasure or a merge of the customer, which then has the contact no more: the second look finds who has it.
    select customer_id into new.customer_id from public.customer_contact_keys join public.customers using (organization_id)
    where organization_id = new.organization_id and contact_key = new.contact_key and identifier_type = new.channel
      and id = customer_id and archived_at is null for key share of customers;
    exit when found;
    perform pg_advisory_xact_lock_shared(hashtext(new.organization_id::text),
      hashtext(concat(new.channel, ' ', new.contact_key)) % 1024) where old.customer_id is null;
  end loop;
  new.customer_id := coalesce(new.customer_id, old.customer_id);
  if new.customer_id is null and new.rotated_from is not null and tg_op = 'INSERT' then
    select customer_id into new.customer_id from public.conversations
    where organization_id = new.organization_id and id = new.rotated_from;
  end if;
  return new;
end $$;
create trigger conversations_contact before insert or update of channel, contact_key on conversations
  for each row execute function public.find_customer();

-- Names the customer's contact after its latest conversation that has a name; without an active customer, that of the archived one
-- which the conversation has. Deferred: a transaction locks no conversation after a customer. While the transaction holds the lock of
-- a contact without a customer, no customer claims the contact; the next one finds the name.
create function public.name_by_latest(organization uuid, type text, key text, customer uuid) returns void language plpgsql as $$
declare
  sent text := concat(type, ' ', key);
  owner uuid;
  stored json;
  place integer;
  latest json;
  is_locked boolean := false;
begin
  for attempt in 1 .. 4 loop
    exit when key is null;
    select customer_id into owner from public.customer_contact_keys
    where organization_id = organization and contact_key = key and identifier_type = type;
    if owner is null and not is_locked then
      perform pg_advisory_xact_lock_shared(hashtext(organization::text), hashtext(sent) % 1024);
      is_locked := true;
      continue;
    end if;
    owner := coalesce(owner, customer);
    exit when owner is null;
    select contacts, array_position(contact_keys, sent) - 1 into stored, place from public.customers
    where organization_id = organization and id = owner and sent = any (contact_keys) and (archived_at is null or is_locked) for no key update;
    if found then
      select to_json(contact_name) into latest from public.conversations
      where organization_id = organization and channel = type and contact_key = key and contact_name is not null
      order by created_at desc nulls last, id desc nulls last limit 1;
      exit when stored -> place ->> 'displayName' is not distinct from latest #>> '{}';
      stored := public.name_contact(stored, place, stored -> place -> 'id', latest);
      update public.customers set contacts = stored where organization_id = organization and id = owner;
      exit;
    end if;
    -- Without the lock, the customer may have lost the contact in between, also by an archive or a merge.
    exit when is_locked;
  end loop;
end $$;

-- The contact that a conversation leaves may have its name. In the order of their keys, for two conversations that swap contacts.
create function public.keep_contact_name() returns trigger language plpgsql as $$
declare
  is_same boolean := row(old.channel, old.contact_key) is not distinct from row(new.channel, new.contact_key);
  is_left boolean := not is_same and old.contact_name is not null;
  is_first boolean := row(old.contact_key, old.channel) < row(new.contact_key, new.channel);
begin
  if is_same and old.contact_name is not distinct from new.contact_name then return null; end if;
  if is_left and is_first then
    perform public.name_by_latest(old.organization_id, old.channel, old.contact_key, old.customer_id);
  end if;
  if is_same or new.contact_name is not null then
    perform public.name_by_latest(new.organization_id, new.channel, new.contact_key, new.customer_id);
  end if;
  if is_left and is_first is not true then
    perform public.name_by_latest(old.organization_id, old.channel, old.contact_key, old.customer_id);
  end if;
  return null;
end $$;
create constraint trigger conversations_contact_name after insert or update of channel, contact_key, contact_name on conversations
  deferrable initially deferred for each row execute function public.keep_contact_name();

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
create trigger customers_link after insert or update of contact_keys, archived_at on customers
  for each row execute function public.link_conversations();

create table searchable_conversations (
  organization_id uuid not null, id uuid not null, search text not null,
  chain_id uuid not null,
  constraint searchable_conversations_pkey primary key (organization_id, id)
);
create index searchable_conversations_search_idx on searchable_conversations using gin (organization_id, search gin_trgm_ops) with (fastupdate = true, gin_pending_list_limit = 512);

create function public.derive_from_conversation() returns trigger language plpgsql as $$
declare
  was text := case when old.id is not null and old.continued_by is null then '' end;
  becomes text := case when new.id is not null and new.continued_by is null then '' end;
begin
  perform public.move_live_count(coalesce(new.organization_id, old.organization_id), 'conversations', was, becomes);
  if tg_op = 'DELETE' then
    delete from public.searchable_conversations where organization_id = old.organization_id and id = old.id;
  elsif tg_op = 'INSERT' or row(old.contact_name, old.contact, old.contact_key, old.chain_id)
      is distinct from row(new.contact_name, new.contact, new.contact_key, new.chain_id) then
    insert into public.searchable_conversations (organization_id, id, search, chain_id)
    values (new.organization_id, new.id, public.fold_text(concat_ws(chr(31), new.contact_name, new.contact, new.contact_key,
      case when new.contact_key ~ '^\+' and new.contact ~ '^[^@]*\d[^@\d]+\d[^@]*$' then regexp_replace(new.contact, '[^+\d]', '', 'g') end)), new.chain_id)
    on conflict (organization_id, id) do update set search = excluded.search, chain_id = excluded.chain_id;
  end if;
  return null;
end $$;
create trigger conversations_derive after insert or delete
  or update of contact_name, contact, contact_key, chain_id, continued_by on conversations
  for each row execute function public.derive_from_conversation();

-- The primary key comes last: of indexes that cost the same in a new database, PostgreSQL takes the last one.
create table whatsapp_messages (
  organization_id uuid not null, conversation_id uuid not null, id uuid not null,
  content text not null, direction text not null, message_type text not null,
  sender_name text,
  created_at timestamptz(3) default now() not null,
  arrival bigint not null,
  provider_message_id text,
  delivery_status text,
  delivery_status_at timestamptz(3),
  delivery_assumed_at timestamptz(3),
  template_name text,
  constraint whatsapp_messages_conversation_fkey foreign key (organization_id, conversation_id) references conversations (organization_id, id)
);
create index whatsapp_messages_transcript_idx on whatsapp_messages (organization_id, conversation_id, created_at desc nulls last, arrival desc nulls last);
create index whatsapp_messages_provider_idx on whatsapp_messages (organization_id, provider_message_id) where provider_message_id is not null;
alter table whatsapp_messages add constraint whatsapp_messages_pkey primary key (organization_id, conversation_id, id);

create table channel_messages (
  organization_id uuid not null, conversation_id uuid not null, id uuid not null,
  content text not null, direction text not null, message_type text not null,
  sender_name text,
  created_at timestamptz(3) default now() not null,
  arrival bigint not null,
  provider_name text, external_id text, subject text,
  constraint channel_messages_conversation_fkey foreign key (organization_id, conversation_id) references conversations (organization_id, id)
);
create index channel_messages_transcript_idx on channel_messages (organization_id, conversation_id, created_at desc nulls last, arrival desc nulls last);
alter table channel_messages add constraint channel_messages_pkey primary key (organization_id, conversation_id, id);

create function public.bound_message() returns trigger language plpgsql as $$
begin
  perform public.reject_above(65536, octet_length(to_json(new.content)::text) - 2, 'the content of a message');
  return new;
end $$;
create trigger whatsapp_messages_size before insert or update of content on whatsapp_messages
  for each row when (octet_length(new.content) > 10922) execute function public.bound_message();
create trigger channel_messages_size before insert or update of content on channel_messages
  for each row when (octet_length(new.content) > 10922) execute function public.bound_message();

-- Creates or replaces messages in the store of the conversation's channel, and dates its chain, in one call: each statement sees what
-- was committed before the locks. `stores` are those that have columns for the sent delivery; in another one, nothing is written.
-- `arrival` is in nanoseconds: the lock of the chain orders the calls, and places add less than a microsecond. `updated_at` moves even
-- if the latest timestamp stays.
create function public.write_messages(organization uuid, conversation uuid, messages json, stores text[], out store text, out inserted integer)
  language plpgsql as $$
declare
  chain uuid;
  changed integer;
  arrived bigint;
begin
  select chain_id into chain from public.conversations where organization_id = organization and id = conversation;
  -- Also if it is committed before the next statement: its chain would not be locked and dated.
  if not found then return; end if;
  perform from public.conversations where organization_id = organization and id = chain for no key update;
  select case when channel = 'whatsapp' then 'whatsapp' else 'others' end into store
  from public.conversations where organization_id = organization and id = conversation for no key update;
  if store is null or store <> all (stores) then return; end if;
  arrived := extract(epoch from clock_timestamp()) * 1e9;
  if store = 'whatsapp' then
    with written as (
      insert into public.whatsapp_messages as stored (organization_id, conversation_id, id, arrival,
        content, direction, message_type, sender_name, created_at, provider_message_id, delivery_status, delivery_status_at, template_name)
      select organization, conversation, id, arrived + ordinality, content, direction, message_type, sender_name,
        coalesce(created_at, (select created_at from public.whatsapp_messages
          where organization_id = organization and conversation_id = conversation and id = sent.id), now()),
        provider_message_id, delivery_status, delivery_status_at, template_name
      from json_populate_recordset(null::public.whatsapp_messages, messages) with ordinality as sent order by id
      on conflict (organization_id, conversation_id, id) do update set
        (content, direction, message_type, sender_name, created_at, provider_message_id, delivery_status, delivery_status_at, template_name) =
        (excluded.content, excluded.direction, excluded.message_type, excluded.sender_name, excluded.created_at, excluded.provider_message_id, excluded.delivery_status, excluded.delivery_status_at, excluded.template_name)
        where row(stored.content, stored.direction, stored.message_type, stored.sender_name, stored.created_at, stored.provider_message_id, stored.delivery_status, stored.delivery_status_at, stored.template_name)
          is distinct from row(excluded.content, excluded.direction, excluded.message_type, excluded.sender_name, excluded.created_at, excluded.provider_message_id, excluded.delivery_status, excluded.delivery_status_at, excluded.template_name)
      returning xmax = 0 as is_new)
    select count(*), count(*) filter (where is_new) into changed, inserted from written;
  else
    with written as (
      insert into public.channel_messages as stored (organization_id, conversation_id, id, arrival,
        content, direction, message_type, sender_name, created_at, provider_name, external_id, subject)
      select organization, conversation, id, arrived + ordinality, content, direction, message_type, sender_name,
        coalesce(created_at, (select created_at from public.channel_messages
          where organization_id = organization and conversation_id = conversation and id = sent.id), now()),
        provider_name, external_id, subject
      from json_populate_recordset(null::public.channel_messages, messages) with ordinality as sent order by id
      on conflict (organization_id, conversation_id, id) do update set
        (content, direction, message_type, sender_name, created_at, provider_name, external_id, subject) =
        (excluded.content, excluded.direction, excluded.message_type, excluded.sender_name, excluded.created_at, excluded.provider_name, excluded.external_id, excluded.subject)
        where row(stored.content, stored.direction, stored.message_type, stored.sender_name, stored.created_at, stored.provider_name, stored.external_id, stored.subject)
          is distinct from row(excluded.content, excluded.direction, excluded.message_type, excluded.sender_name, excluded.created_at, excluded.provider_name, excluded.external_id, excluded.subject)
      returning xmax = 0 as is_new)
    select count(*), count(*) filter (where is_new) into changed, inserted from written;
  end if;
  if changed > 0 then
    update public.conversations as dated set
      updated_at = '-infinity',
      message_count = message_count + case when id = conversation then inserted else 0 end,
      last_message_at = (
        select max(greatest(
          (select max(created_at) from public.whatsapp_messages where organization_id = organization and conversation_id = thread.id),
          (select max(created_at) from public.channel_messages where organization_id = organization and conversation_id = thread.id)))
        from public.conversations as thread
        where thread.organization_id = organization and thread.chain_id = chain and (thread.id = dated.id or dated.continued_by is null))
    where organization_id = organization and chain_id = chain and (id = conversation or continued_by is null);
  end if;
end $$;

create table quotes (
  organization_id uuid not null, id uuid not null,
  opportunity_id uuid not null,
  title text not null, status text not null,
  destination text,
  customer_id uuid,
  price numeric,
  currency text,
  token text not null,
  open_count integer default 0 not null, first_opened_at timestamptz(3), last_opened_at timestamptz(3), published_at timestamptz(3),
  created_at timestamptz(3) default now() not null, updated_at timestamptz(3) default now() not null, archived_at timestamptz(3),
  constraint quotes_pkey primary key (organization_id, id),
  constraint quotes_organization_fkey foreign key (organization_id) references organizations (id),
  constraint quotes_opportunity_fkey foreign key (organization_id, opportunity_id) references opportunities (organization_id, id),
  constraint quotes_customer_fkey foreign key (organization_id, customer_id) references customers (organization_id, id)
);
create unique index quotes_token_key on quotes (organization_id, token) where token is not null;
create index quotes_live_idx on quotes (organization_id, updated_at desc nulls last, id desc nulls last) where archived_at is null;
create index quotes_created_idx on quotes (organization_id, created_at, updated_at, id) where archived_at is null;
create index quotes_status_idx on quotes (organization_id, status, updated_at desc nulls last, id desc nulls last) where archived_at is null;
create index quotes_opportunity_idx on quotes (organization_id, opportunity_id, updated_at desc nulls last, id desc nulls last) where opportunity_id is not null;
create index quotes_customer_idx on quotes (organization_id, customer_id, updated_at desc nulls last, id desc nulls last) where customer_id is not null;
create index quotes_archived_idx on quotes (organization_id, archived_at desc nulls last, id desc nulls last) where archived_at is not null;
create index quotes_token_idx on quotes (token);
create index quotes_no_customer_idx on quotes (organization_id, updated_at desc nulls last, id desc nulls last) where customer_id is null and archived_at is null;
create index quotes_opened_idx on quotes (organization_id, (open_count > 0), updated_at desc nulls last, id desc nulls last, open_count, status) where archived_at is null;

-- Sets published_at when a quote is published without it, and keeps it afterwards. Fires before quotes_touch, by its name.
create function public.date_publication() returns trigger language plpgsql as $$
begin
  new.published_at := coalesce(old.published_at, case when new.status = 'published' then date_trunc('milliseconds', now()) end);
  return new;
end $$;
create trigger quotes_publish before insert or update on quotes
  for each row when (new.published_at is null) execute function public.date_publication();
create trigger quotes_touch before update on quotes for each row execute function public.touch_record();

-- A quote's customer is that of its opportunity. The lock keeps a change of the opportunity waiting, which then finds the quote.
create function public.follow_opportunity() returns trigger language plpgsql as $$
begin
  if new.opportunity_id is distinct from old.opportunity_id then
    select customer_id into new.customer_id from public.opportunities
    where organization_id = new.organization_id and id = new.opportunity_id for share;
  end if;
  return new;
end $$;
create trigger quotes_customer before insert or update of opportunity_id on quotes
  for each row execute function public.follow_opportunity();

create table searchable_quotes (
  organization_id uuid not null, id uuid not null, search text not null,
  constraint searchable_quotes_pkey primary key (organization_id, id)
);
create index searchable_quotes_search_idx on searchable_quotes using gin (organization_id, search gin_trgm_ops) with (fastupdate = true, gin_pending_list_limit = 512);

create function public.derive_from_quote() returns trigger language plpgsql as $$
declare
  was text := case when old.archived_at is null then old.status end;
  becomes text := case when new.archived_at is null then new.status end;
begin
  perform public.move_live_count(coalesce(new.organization_id, old.organization_id), 'quotes', was, becomes);
  if becomes is null then
    delete from public.searchable_quotes where organization_id = old.organization_id and id = old.id;
  elsif was is null or row(old.title, old.destination)
    is distinct from row(new.title, new.destination)
  then
    insert into public.searchable_quotes (organization_id, id, search)
    values (new.organization_id, new.id, public.fold_text(concat_ws(chr(31), new.title, new.destination)))
    on conflict (organization_id, id) do update set search = excluded.search;
  end if;
  return null;
end $$;
create trigger quotes_derive after insert or delete
  or update of title, destination, status, archived_at on quotes for each row execute function public.derive_from_quote();

-- The other direction: a change of the opportunity's customer changes its quotes.
create function public.pass_customer_to_quotes() returns trigger language plpgsql as $$
begin
  if new.customer_id is distinct from old.customer_id then
    update public.quotes set customer_id = new.customer_id
    where organization_id = new.organization_id and opportunity_id = new.id;
  end if;
  return null;
end $$;
create trigger opportunities_quotes after update of customer_id on opportunities
  for each row execute function public.pass_customer_to_quotes();

create table quote_attachments (
  organization_id uuid not null, id uuid not null,
  quote_id uuid not null,
  file_name text not null, kind text not null, mime_type text not null, size_bytes bigint not null,
  created_at timestamptz(3) default now() not null,
  constraint quote_attachments_pkey primary key (organization_id, id),
  constraint quote_attachments_quote_fkey foreign key (organization_id, quote_id) references quotes (organization_id, id)
);
create index quote_attachments_quote_idx on quote_attachments (organization_id, quote_id, created_at, id);

-- Opportunities by sales stage have another `resource`, because nothing limits the number of stages.
create table live_counts (
  organization_id uuid not null,
  resource text not null, value text not null, slot smallint not null, live bigint not null,
  constraint live_counts_pkey primary key (organization_id, resource, value, slot),
  constraint live_counts_organization_fkey foreign key (organization_id) references organizations (id)
);

-- No foreign key: an archived record may be purged.
create table idempotency_keys (
  organization_id uuid not null,
  fingerprint bytea not null, body_hash bytea not null, record_id uuid not null,
  created_at timestamptz(3) default now() not null,
  constraint idempotency_keys_pkey primary key (organization_id, fingerprint)
);
create index idempotency_keys_created_at_idx on idempotency_keys (created_at);
