-- For searches and tags, without a pending list.
create index customers_search_idx on customers using gin (organization_id, search gin_trgm_ops) with (fastupdate = false) where archived_at is null;
create index customers_tags_idx on customers using gin (organization_id, tags) with (fastupdate = false) where archived_at is null;
create index products_search_idx on products using gin (organization_id, search gin_trgm_ops) with (fastupdate = false) where archived_at is null;
