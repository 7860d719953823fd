-- The product list takes externalReferenceCode, for integrations that sync by their own codes; and the purge
-- reads what is due from its index alone.
CREATE INDEX CONCURRENTLY IF NOT EXISTS "products_external_reference_code_idx" ON "products" USING btree ("organization_id","external_reference_code","updated_at" DESC NULLS LAST,"id" DESC NULLS LAST) WHERE archived_at is null and external_reference_code is not null;
--> statement-breakpoint
CREATE INDEX CONCURRENTLY IF NOT EXISTS "products_due_idx" ON "products" USING btree ("archived_at","organization_id","id") WHERE archived_at is not null;
--> statement-breakpoint
DROP INDEX CONCURRENTLY IF EXISTS "products_purge_idx";
