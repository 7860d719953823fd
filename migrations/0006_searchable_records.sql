-- PostgreSQL puts a row whose updated_at moves into all of its indexes again. What searches look at is kept
-- in narrow tables of its own, so that a change of another field leaves the trigram index alone.
CREATE TABLE "searchable_customers" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"tags" text[] DEFAULT '{}'::text[] NOT NULL,
	"search" text NOT NULL,
	"archived_at" timestamp (3) with time zone,
	CONSTRAINT "searchable_customers_pkey" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE TABLE "searchable_products" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"type" text NOT NULL,
	"status" text NOT NULL,
	"budget_tier" text,
	"external_reference_code" text,
	"search" text NOT NULL,
	"archived_at" timestamp (3) with time zone,
	CONSTRAINT "searchable_products_pkey" PRIMARY KEY("organization_id","id")
);
