-- Erasures of any size: messages in slices, and stored responses by the ids of their records.
CREATE INDEX CONCURRENTLY IF NOT EXISTS "customers_archived_contacts_idx" ON "customers" USING gin ("organization_id","contact_keys") WITH (fastupdate=true,gin_pending_list_limit=512) WHERE archived_at is not null;
--> statement-breakpoint
CREATE INDEX CONCURRENTLY IF NOT EXISTS "idempotency_keys_records_idx" ON "idempotency_keys" USING gin ("organization_id","record_ids") WITH (fastupdate=true,gin_pending_list_limit=512);
