-- Lists filtered by two columns at once counted their total in the table: the other column now stands in the index of the first.
DROP INDEX "products_status_idx";--> statement-breakpoint
DROP INDEX "products_type_idx";--> statement-breakpoint
DROP INDEX "conversations_activity_state_idx";--> statement-breakpoint
DROP INDEX "opportunities_sales_stage_idx";--> statement-breakpoint
CREATE INDEX "products_status_idx" ON "products" USING btree ("organization_id","status","updated_at" DESC NULLS LAST,"id" DESC NULLS LAST,"type","budget_tier") WHERE archived_at is null;--> statement-breakpoint
CREATE INDEX "products_type_idx" ON "products" USING btree ("organization_id","type","updated_at" DESC NULLS LAST,"id" DESC NULLS LAST,"budget_tier") WHERE archived_at is null;--> statement-breakpoint
CREATE INDEX "conversations_activity_state_idx" ON "conversations" USING btree ("organization_id","activity_state","last_message_at" DESC NULLS LAST,"id" DESC NULLS LAST,"channel") WHERE continued_by is null;--> statement-breakpoint
CREATE INDEX "opportunities_sales_stage_idx" ON "opportunities" USING btree ("organization_id","sales_stage","updated_at" DESC NULLS LAST,"id" DESC NULLS LAST,"stage_id") WHERE archived_at is null;