-- Archived records, a conversation's controller, a message's provider id, a public link and an account's memberships are found by indexes; an account is once among the active members.
CREATE INDEX CONCURRENTLY IF NOT EXISTS "conversations_controlled_by_idx" ON "conversations" USING btree ("organization_id","controlled_by","last_message_at" DESC NULLS LAST,"id" DESC NULLS LAST,"channel") WHERE continued_by is null;
--> statement-breakpoint
CREATE INDEX CONCURRENTLY IF NOT EXISTS "opportunities_archived_idx" ON "opportunities" USING btree ("organization_id","archived_at" DESC NULLS LAST,"id" DESC NULLS LAST) WHERE archived_at is not null;
--> statement-breakpoint
CREATE INDEX CONCURRENTLY IF NOT EXISTS "pipeline_stages_archived_idx" ON "pipeline_stages" USING btree ("organization_id","archived_at" DESC NULLS LAST,"id" DESC NULLS LAST) WHERE archived_at is not null;
--> statement-breakpoint
CREATE INDEX CONCURRENTLY IF NOT EXISTS "quotes_archived_idx" ON "quotes" USING btree ("organization_id","archived_at" DESC NULLS LAST,"id" DESC NULLS LAST) WHERE archived_at is not null;
--> statement-breakpoint
CREATE INDEX CONCURRENTLY IF NOT EXISTS "quotes_token_idx" ON "quotes" USING btree ("token");
--> statement-breakpoint
CREATE INDEX CONCURRENTLY IF NOT EXISTS "team_members_archived_idx" ON "team_members" USING btree ("organization_id","archived_at" DESC NULLS LAST,"id" DESC NULLS LAST) WHERE archived_at is not null;
--> statement-breakpoint
CREATE INDEX CONCURRENTLY IF NOT EXISTS "whatsapp_messages_provider_idx" ON "whatsapp_messages" USING btree ("organization_id","provider_message_id") WHERE provider_message_id is not null;
--> statement-breakpoint
CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS "team_members_user_key" ON "team_members" USING btree ("user_id","organization_id") WHERE archived_at is null;
