-- Turns a copy of the service's database into one by the book, with the same data: children in tables of their own, the text that
-- searches look at in a generated column of each record, and no triggers, search documents or counts.
do $$ declare found record; begin
  for found in select tgname as name, tgrelid::regclass as of from pg_trigger where not tgisinternal loop
    execute format('drop trigger %I on %s', found.name, found.of);
  end loop;
end $$;
drop table searchable_customers, searchable_products, searchable_opportunities, searchable_conversations, searchable_quotes, live_counts;

create table customer_contacts (
  organization_id uuid not null,
  id uuid not null,
  customer_id uuid not null,
  position integer not null,
  identifier_type text not null,
  identifier_value text not null,
  contact_key text not null,
  phone_number text,
  display_name text,
  archived_at timestamptz(3)
);
insert into customer_contacts
select customers.organization_id, child.id, customers.id, position - 1, child.type, value, coalesce(contact_key, value), phone, name, archived_at
from customers
cross join lateral rows from (json_to_recordset(contacts)
    as (id uuid, "identifierType" text, "identifierValue" text, "phoneNumber" text, "displayName" text))
  with ordinality as child(id, type, value, phone, name, position)
left join customer_contact_keys keys on keys.organization_id = customers.organization_id
  and keys.customer_id = customers.id and keys.identifier_type = child.type;
drop table customer_contact_keys;
alter table customer_contacts add primary key (organization_id, id),
  add foreign key (organization_id, customer_id) references customers (organization_id, id);
create unique index on customer_contacts (organization_id, identifier_type, contact_key) where archived_at is null;
create index on customer_contacts (organization_id, customer_id, position);

create table product_variants (
  organization_id uuid not null,
  id uuid not null,
  product_id uuid not null,
  position integer not null,
  label text not null,
  status text not null,
  capacity_min integer,
  capacity_max integer,
  currency text,
  description text,
  short_description text,
  duration_days integer,
  duration_hours double precision,
  includes text[] not null,
  excludes text[] not null,
  from_price numeric,
  price_max numeric
);
insert into product_variants
select organization_id, child.id, products.id, child.position, child.label, child.status, child."capacityMin", child."capacityMax",
  child.currency, child.description, child."shortDescription", child."durationDays", child."durationHours", child.includes,
  child.excludes, child."fromPrice", child."priceMax"
from products
cross join lateral json_to_recordset(variants) as child(id uuid, position integer, label text, status text, "capacityMin" integer,
  "capacityMax" integer, currency text, description text, "shortDescription" text, "durationDays" integer,
  "durationHours" double precision, includes text[], excludes text[], "fromPrice" numeric, "priceMax" numeric);
alter table product_variants add primary key (organization_id, id),
  add foreign key (organization_id, product_id) references products (organization_id, id);
create unique index on product_variants (organization_id, product_id, position);

-- concat_ws is not immutable, so it has no place in a generated column.
alter table customers drop column contacts, add column search text not null generated always as (fold_text(
  coalesce(coalesce(nullif(first_name, '') || ' ' || nullif(last_name, ''), nullif(first_name, ''), last_name), '')
  || chr(31) || coalesce(summary, '') || chr(31) || contact_search)) stored;
alter table products drop column variants, add column search text not null generated always as (fold_text(
  title || chr(31) || coalesce(short_description, '') || chr(31) || coalesce(description, ''))) stored;
create index customers_search_idx on customers using gin (organization_id, search gin_trgm_ops) where archived_at is null;
create index products_search_idx on products using gin (organization_id, search gin_trgm_ops) where archived_at is null;

-- Of filters that this server does not have.
drop index customers_created_idx, products_created_idx;
