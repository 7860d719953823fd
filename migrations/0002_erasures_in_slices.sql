-- Erasures of any size: messages in slices, and stored responses by the ids of their records.
ALTER TABLE "erasures" ALTER COLUMN "erased_at" DROP NOT NULL;
--> statement-breakpoint
ALTER TABLE "erasures" ADD COLUMN "same_contacts" uuid[];
--> statement-breakpoint
ALTER TABLE "erasures" ADD COLUMN "pending_messages" integer;
--> statement-breakpoint
ALTER TABLE "idempotency_keys" ADD COLUMN "record_ids" uuid[];
