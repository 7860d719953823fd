-- What the code of 0009 sends: it also keeps what searches see.

-- create product
insert into products (organization_id, id, title, type, status, pricing_mode, external_reference_code)
  values (:organization, :id, 'Bogotá', 'package', 'active', 'total', :id);
insert into product_variants (organization_id, product_id, id, label, position, status)
  values (:organization, :id, :id, 'Double', 0, 'active');
insert into searchable_products (organization_id, id, type, status, budget_tier, external_reference_code, search, archived_at)
  select organization_id, id, type, status, budget_tier, external_reference_code, search, archived_at
  from products where organization_id = :organization and id = :id on conflict (organization_id, id) do nothing;
insert into live_counts (organization_id, resource, slot, live) values (:organization, 'products', pg_backend_pid() % 16, 1)
  on conflict (organization_id, resource, slot) do update set live = live_counts.live + excluded.live;
insert into product_bodies (organization_id, id, updated_at, rendering, body)
  select organization_id, id, updated_at, 1, '{}' from products where organization_id = :organization and id = :id;

-- create customer
insert into customers (organization_id, id, last_name, tags, contact_search) values (:organization, :id, 'Peña', '{vip}', :id);
insert into customer_contacts (organization_id, customer_id, id, position, identifier_type, identifier_value, contact_key)
  values (:organization, :id, :id, 0, 'web', :id, :id);
insert into searchable_customers (organization_id, id, tags, search, archived_at)
  select organization_id, id, tags, search, archived_at
  from customers where organization_id = :organization and id = :id on conflict (organization_id, id) do nothing;
insert into live_counts (organization_id, resource, slot, live) values (:organization, 'customers', pg_backend_pid() % 16, 1)
  on conflict (organization_id, resource, slot) do update set live = live_counts.live + excluded.live;
insert into customer_bodies (organization_id, id, updated_at, rendering, body)
  select organization_id, id, updated_at, 1, '{}' from customers where organization_id = :organization and id = :id;

-- patch product
update products set title = 'Cali', updated_at = greatest(now(), updated_at + interval '1 millisecond')
  where organization_id = :organization and id = :id;
update searchable_products seen set (type, status, budget_tier, external_reference_code, search, archived_at) =
  (products.type, products.status, products.budget_tier, products.external_reference_code, products.search, products.archived_at) from products
  where products.organization_id = :organization and products.id = :id and seen.organization_id = :organization and seen.id = :id;
update product_bodies kept set updated_at = products.updated_at, rendering = 1, body = '{}' from products
  where products.organization_id = :organization and products.id = :id and kept.organization_id = :organization and kept.id = :id;

-- patch customer
update customers set last_name = 'Núñez', updated_at = greatest(now(), updated_at + interval '1 millisecond')
  where organization_id = :organization and id = :id;
update searchable_customers seen set (tags, search, archived_at) = (customers.tags, customers.search, customers.archived_at) from customers
  where customers.organization_id = :organization and customers.id = :id and seen.organization_id = :organization and seen.id = :id;
update customer_bodies kept set updated_at = customers.updated_at, rendering = 1, body = '{}' from customers
  where customers.organization_id = :organization and customers.id = :id and kept.organization_id = :organization and kept.id = :id;

-- archive product
update products set archived_at = now() - interval '31 days' where organization_id = :organization and id = :id;
update searchable_products seen set archived_at = products.archived_at from products
  where products.organization_id = :organization and products.id = :id and seen.organization_id = :organization and seen.id = :id;
insert into live_counts (organization_id, resource, slot, live) values (:organization, 'products', pg_backend_pid() % 16, -1)
  on conflict (organization_id, resource, slot) do update set live = live_counts.live + excluded.live;

-- archive customer
update customers set archived_at = now() where organization_id = :organization and id = :id;
update customer_contacts set archived_at = now() where organization_id = :organization and customer_id = :id;
update searchable_customers seen set archived_at = customers.archived_at from customers
  where customers.organization_id = :organization and customers.id = :id and seen.organization_id = :organization and seen.id = :id;
insert into live_counts (organization_id, resource, slot, live) values (:organization, 'customers', pg_backend_pid() % 16, -1)
  on conflict (organization_id, resource, slot) do update set live = live_counts.live + excluded.live;

-- purge product
select id from products where organization_id = :organization and id = :id for update skip locked;
delete from product_variants where organization_id = :organization and product_id = :id;
delete from product_bodies where organization_id = :organization and id = :id;
delete from searchable_products where organization_id = :organization and id = :id;
delete from products where organization_id = :organization and id = :id;
