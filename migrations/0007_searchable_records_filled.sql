-- Filled before the keys and indexes come: a key that is checked for each row would lock every record until the end.
INSERT INTO "searchable_customers" ("organization_id","id","tags","search","archived_at") SELECT "organization_id","id","tags","search","archived_at" FROM "customers" ON CONFLICT DO NOTHING;
--> statement-breakpoint
INSERT INTO "searchable_products" ("organization_id","id","type","status","budget_tier","external_reference_code","search","archived_at") SELECT "organization_id","id","type","status","budget_tier","external_reference_code","search","archived_at" FROM "products" ON CONFLICT DO NOTHING;
--> statement-breakpoint
CREATE INDEX CONCURRENTLY IF NOT EXISTS "searchable_customers_idx" ON "searchable_customers" USING gin ("organization_id","tags","search" gin_trgm_ops) WITH (fastupdate=false) WHERE archived_at is null;
--> statement-breakpoint
CREATE INDEX CONCURRENTLY IF NOT EXISTS "searchable_products_idx" ON "searchable_products" USING gin ("organization_id","external_reference_code","search" gin_trgm_ops) WITH (fastupdate=false) WHERE archived_at is null;
--> statement-breakpoint
ANALYZE "searchable_customers";
--> statement-breakpoint
ANALYZE "searchable_products";
--> statement-breakpoint
DROP INDEX CONCURRENTLY IF EXISTS "customers_search_idx";
--> statement-breakpoint
DROP INDEX CONCURRENTLY IF EXISTS "customers_tags_idx";
--> statement-breakpoint
DROP INDEX CONCURRENTLY IF EXISTS "products_search_idx";
