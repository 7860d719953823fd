-- For searches, as PostgreSQL makes them: with a pending list of 4 MB. Tags have none.
create index customers_search_idx on customers using gin (organization_id, search gin_trgm_ops) where archived_at is null;
create index products_search_idx on products using gin (organization_id, search gin_trgm_ops) where archived_at is null;
