-- Lists of records without a customer, and of quotes that were opened, are read in their order.
CREATE INDEX CONCURRENTLY IF NOT EXISTS "conversations_no_customer_idx" ON "conversations" USING btree ("organization_id","last_message_at" DESC NULLS LAST,"id" DESC NULLS LAST) WHERE customer_id is null and continued_by is null;
--> statement-breakpoint
CREATE INDEX CONCURRENTLY IF NOT EXISTS "opportunities_no_customer_idx" ON "opportunities" USING btree ("organization_id","updated_at" DESC NULLS LAST,"id" DESC NULLS LAST) WHERE customer_id is null and archived_at is null;
--> statement-breakpoint
CREATE INDEX CONCURRENTLY IF NOT EXISTS "quotes_no_customer_idx" ON "quotes" USING btree ("organization_id","updated_at" DESC NULLS LAST,"id" DESC NULLS LAST) WHERE customer_id is null and archived_at is null;
--> statement-breakpoint
CREATE INDEX CONCURRENTLY IF NOT EXISTS "quotes_opened_idx" ON "quotes" USING btree ("organization_id",(open_count > 0),"updated_at" DESC NULLS LAST,"id" DESC NULLS LAST,"open_count","status") WHERE archived_at is null;
