-- The stage combines with the other filters in one index: a count read each row of the stage.
CREATE INDEX CONCURRENTLY IF NOT EXISTS "opportunities_of_stage_idx" ON "opportunities" USING btree ("organization_id","stage_id","updated_at" DESC NULLS LAST,"id" DESC NULLS LAST,"sales_stage","seller_member_id","temperature_override","temperature") WHERE archived_at is null;
--> statement-breakpoint
DROP INDEX CONCURRENTLY IF EXISTS "opportunities_stage_idx";
