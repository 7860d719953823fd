-- What the code of 0015 and later sends: it renders the read row last, and a purge leaves the copies to their keys.

-- create product
insert into products (organization_id, id, title, type, status, pricing_mode, external_reference_code)
  values (:organization, :id, 'Bogotá', 'package', 'active', 'total', :id);
insert into product_variants (organization_id, product_id, id, label, position, status)
  values (:organization, :id, :id, 'Double', 0, 'active');
insert into live_counts (organization_id, resource, slot, live) values (:organization, 'products', pg_backend_pid() % 16, 1)
  on conflict (organization_id, resource, slot) do update set live = live_counts.live + excluded.live;
insert into searchable_products (organization_id, id, type, status, budget_tier, external_reference_code, search, archived_at)
  select organization_id, id, type, status, budget_tier, external_reference_code, search, archived_at
  from products where organization_id = :organization and id = :id;
insert into product_bodies (organization_id, id, updated_at, type, status, budget_tier, external_reference_code, rendering, body)
  select organization_id, id, updated_at, type, status, budget_tier, external_reference_code, 2, '{}'
  from products where organization_id = :organization and id = :id;

-- create customer
insert into customers (organization_id, id, last_name, country, tags, contact_search)
  values (:organization, :id, 'Peña', 'Chile', '{vip}', :id);
insert into customer_contacts (organization_id, customer_id, id, position, identifier_type, identifier_value, contact_key)
  values (:organization, :id, :id, 0, 'web', :id, :id);
insert into live_counts (organization_id, resource, slot, live) values (:organization, 'customers', pg_backend_pid() % 16, 1)
  on conflict (organization_id, resource, slot) do update set live = live_counts.live + excluded.live;
insert into searchable_customers (organization_id, id, tags, search, archived_at)
  select organization_id, id, tags, search, archived_at from customers where organization_id = :organization and id = :id;
insert into customer_bodies (organization_id, id, updated_at, rendering, body)
  select organization_id, id, updated_at, 2, '{}' from customers where organization_id = :organization and id = :id;

-- patch product
select from products where organization_id = :organization and id = :id for update;
update products set title = 'Cali', updated_at = greatest(now(), updated_at + interval '1 millisecond')
  where organization_id = :organization and id = :id and archived_at is null;
insert into searchable_products (organization_id, id, type, status, budget_tier, external_reference_code, search, archived_at)
  select organization_id, id, type, status, budget_tier, external_reference_code, search, archived_at
  from products where organization_id = :organization and id = :id and archived_at is null
  on conflict (organization_id, id) do update set search = excluded.search;
insert into product_bodies (organization_id, id, updated_at, type, status, budget_tier, external_reference_code, rendering, body)
  select organization_id, id, updated_at, type, status, budget_tier, external_reference_code, 2, '{}'
  from products where organization_id = :organization and id = :id and archived_at is null
  on conflict (organization_id, id) do update
  set (updated_at, rendering, body) = row (excluded.updated_at, excluded.rendering, excluded.body);

-- patch customer
select from customers where organization_id = :organization and id = :id for update;
update customers set last_name = 'Núñez', country = 'Perú', updated_at = greatest(now(), updated_at + interval '1 millisecond')
  where organization_id = :organization and id = :id and archived_at is null;
insert into searchable_customers (organization_id, id, tags, search, archived_at)
  select organization_id, id, tags, search, archived_at
  from customers where organization_id = :organization and id = :id and archived_at is null
  on conflict (organization_id, id) do update set search = excluded.search;
insert into customer_bodies (organization_id, id, updated_at, rendering, body)
  select organization_id, id, updated_at, 2, '{}'
  from customers where organization_id = :organization and id = :id and archived_at is null
  on conflict (organization_id, id) do update
  set (updated_at, rendering, body) = row (excluded.updated_at, excluded.rendering, excluded.body);

-- archive product
update products set archived_at = now() - interval '31 days'
  where organization_id = :organization and id = :id and archived_at is null;
update live_counts set live = live - 1 where organization_id = :organization and resource = 'products'
  and slot = (select min(slot) from live_counts where organization_id = :organization and resource = 'products');
delete from product_bodies where organization_id = :organization and id = :id;
delete from searchable_products where organization_id = :organization and id = :id;

-- archive customer
update customers set archived_at = now() where organization_id = :organization and id = :id and archived_at is null;
update customer_contacts set archived_at = now() where organization_id = :organization and customer_id = :id;
update live_counts set live = live - 1 where organization_id = :organization and resource = 'customers'
  and slot = (select min(slot) from live_counts where organization_id = :organization and resource = 'customers');
delete from customer_bodies where organization_id = :organization and id = :id;
delete from searchable_customers where organization_id = :organization and id = :id;

-- purge product
select id from products where organization_id = :organization and id = :id for update skip locked;
delete from product_variants where organization_id = :organization and product_id = :id;
delete from products where organization_id = :organization and id = :id;
