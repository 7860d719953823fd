-- The lists of customers and products, in their order: the service has the same indexes over its read rows.
create index customers_live_idx on customers (organization_id, updated_at desc nulls last, id desc nulls last) where archived_at is null;
create index products_live_idx on products (organization_id, updated_at desc nulls last, id desc nulls last) where archived_at is null;
create index products_status_idx on products (organization_id, status, updated_at desc nulls last, id desc nulls last, type, budget_tier)
  where archived_at is null;
create index products_type_idx on products (organization_id, type, updated_at desc nulls last, id desc nulls last, budget_tier)
  where archived_at is null;
create index products_budget_tier_idx on products (organization_id, budget_tier, updated_at desc nulls last, id desc nulls last)
  where archived_at is null;
create index products_external_reference_code_idx
  on products (organization_id, external_reference_code, updated_at desc nulls last, id desc nulls last)
  where archived_at is null and external_reference_code is not null;
