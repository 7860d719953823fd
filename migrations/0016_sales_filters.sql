-- The lists of opportunities and quotes take customerId, that of opportunities also sellerMemberId and temperature: without them agents and reports read whole lists.
CREATE INDEX CONCURRENTLY IF NOT EXISTS "opportunities_customer_idx" ON "opportunities" USING btree ("organization_id","customer_id","updated_at" DESC NULLS LAST,"id" DESC NULLS LAST) WHERE archived_at is null;
--> statement-breakpoint
CREATE INDEX CONCURRENTLY IF NOT EXISTS "opportunities_temperature_idx" ON "opportunities" USING btree ("organization_id",coalesce("temperature_override", "temperature"),"updated_at" DESC NULLS LAST,"id" DESC NULLS LAST,"temperature_override","temperature","sales_stage","stage_id","seller_member_id") WHERE archived_at is null;
--> statement-breakpoint
CREATE INDEX CONCURRENTLY IF NOT EXISTS "opportunities_seller_idx" ON "opportunities" USING btree ("organization_id","seller_member_id","updated_at" DESC NULLS LAST,"id" DESC NULLS LAST,"sales_stage","stage_id","temperature_override","temperature") WHERE archived_at is null;
--> statement-breakpoint
CREATE INDEX CONCURRENTLY IF NOT EXISTS "quotes_customer_idx" ON "quotes" USING btree ("organization_id","customer_id","updated_at" DESC NULLS LAST,"id" DESC NULLS LAST) WHERE archived_at is null;
--> statement-breakpoint
-- PostgreSQL knows how common a reported temperature is once it has looked at the index of the expression.
ANALYZE "opportunities";
