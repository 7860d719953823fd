-- The first answers of requests with an Idempotency-Key, kept for a day in the transaction of what they answer.
CREATE TABLE "idempotency_keys" (
	"organization_id" uuid NOT NULL,
	"fingerprint" "bytea" NOT NULL,
	"body_hash" "bytea" NOT NULL,
	"status" smallint NOT NULL,
	"headers" jsonb NOT NULL,
	"body" "bytea" NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "idempotency_keys_pkey" PRIMARY KEY("organization_id","fingerprint")
);
--> statement-breakpoint
CREATE INDEX "idempotency_keys_created_at_idx" ON "idempotency_keys" USING btree ("created_at");