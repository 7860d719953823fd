-- The schema of version 1.0.0: extensions, functions, tables, foreign keys, indexes, and what is set on them.
-- Tables, keys and indexes are those of src/db/schema/, in the order of docs/tables.md.

-- Search without regard to case or accents, by trigram indexes that start with the organization.
-- All three extensions are trusted: the owner of the database may create them.
CREATE EXTENSION IF NOT EXISTS pg_trgm WITH SCHEMA public;
--> statement-breakpoint
CREATE EXTENSION IF NOT EXISTS unaccent WITH SCHEMA public;
--> statement-breakpoint
CREATE EXTENSION IF NOT EXISTS btree_gin WITH SCHEMA public;
--> statement-breakpoint
-- unaccent() alone is STABLE, because its dictionary is found by search_path; naming the dictionary makes an
-- IMMUTABLE wrapper true. NFKC first: an accent sent as a combining mark folds like the precomposed letter.
CREATE FUNCTION public.fold_text(value text) RETURNS text
  LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
  RETURN lower(public.unaccent('public.unaccent'::regdictionary, normalize(value, NFKC)));
--> statement-breakpoint
-- The LIKE pattern that finds the folded text anywhere. Escaped after folding, which can itself make a % or _.
CREATE FUNCTION public.contains_pattern(value text) RETURNS text
  LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
  RETURN '%' || replace(replace(replace(public.fold_text(value), '\', '\\'), '%', '\%'), '_', '\_') || '%';
--> statement-breakpoint
-- Ends a write that must not be, with an SQLSTATE of the service. The log of PostgreSQL gets the refusal, and no value.
CREATE FUNCTION public.refuse_unless(holds boolean, refusal text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF holds IS NOT TRUE THEN RAISE EXCEPTION USING ERRCODE = 'TC001', MESSAGE = refusal; END IF;
END $$;
--> statement-breakpoint
-- A travel agency.
CREATE TABLE "organizations" (
	"id" uuid PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
-- A key: its SHA-256, its limit and access, until when it is good.
CREATE TABLE "api_keys" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"name" text NOT NULL,
	"hash" "bytea" NOT NULL,
	"start" text NOT NULL,
	"last4" text NOT NULL,
	"access" text DEFAULT 'write' NOT NULL,
	"requests_per_minute" integer,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"last_used_at" timestamp (3) with time zone,
	"expires_at" timestamp (3) with time zone,
	"revoked_at" timestamp (3) with time zone,
	"replaced_by" uuid,
	CONSTRAINT "api_keys_pkey" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
-- A product, archived or not.
CREATE TABLE "products" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"title" text NOT NULL,
	"type" text NOT NULL,
	"status" text NOT NULL,
	"pricing_mode" text NOT NULL,
	"budget_tier" text,
	"capacity_min" integer,
	"capacity_max" integer,
	"cover_image" text,
	"currency" text,
	"description" text,
	"short_description" text,
	"special_conditions" text,
	"destinations" text[] DEFAULT '{}'::text[] NOT NULL,
	"duration_days" integer,
	"duration_hours" double precision,
	"includes" text[] DEFAULT '{}'::text[] NOT NULL,
	"excludes" text[] DEFAULT '{}'::text[] NOT NULL,
	"gallery" text[] DEFAULT '{}'::text[] NOT NULL,
	"external_reference_code" text,
	"from_price" numeric,
	"price_max" numeric,
	"operator" text,
	"price_basis" text,
	"valid_from" text,
	"valid_until" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"archived_at" timestamp (3) with time zone,
	"search" text GENERATED ALWAYS AS (public.fold_text(coalesce(title, '') || chr(31) || coalesce(short_description, '') || chr(31) || coalesce(description, ''))) STORED NOT NULL,
	CONSTRAINT "products_pkey" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
-- A variant of a product, in its place.
CREATE TABLE "product_variants" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"product_id" uuid NOT NULL,
	"label" text NOT NULL,
	"position" integer NOT NULL,
	"status" text NOT NULL,
	"capacity_min" integer,
	"capacity_max" integer,
	"currency" text,
	"description" text,
	"short_description" text,
	"duration_days" integer,
	"duration_hours" double precision,
	"includes" text[] DEFAULT '{}'::text[] NOT NULL,
	"excludes" text[] DEFAULT '{}'::text[] NOT NULL,
	"from_price" numeric,
	"price_max" numeric,
	CONSTRAINT "product_variants_pkey" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
-- The read row of a product that is not archived: its body as a GET shows it.
CREATE TABLE "product_bodies" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL,
	"rendering" integer NOT NULL,
	"body" text NOT NULL,
	"type" text,
	"status" text,
	"budget_tier" text,
	"external_reference_code" text,
	CONSTRAINT "product_bodies_pkey" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
-- The search row of such a product: the folded text, and the filters that can be sent with query.
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
--> statement-breakpoint
-- A customer, archived or not.
CREATE TABLE "customers" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"first_name" text,
	"last_name" text,
	"city" text,
	"country" text,
	"preferred_language" text,
	"summary" text,
	"tags" text[] DEFAULT '{}'::text[] NOT NULL,
	"contact_search" text DEFAULT '' NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"archived_at" timestamp (3) with time zone,
	"search" text GENERATED ALWAYS AS (public.fold_text(coalesce(coalesce(nullif(first_name, '') || ' ' || nullif(last_name, ''), nullif(first_name, ''), last_name), '') || chr(31) || coalesce(summary, '') || chr(31) || coalesce(contact_search, ''))) STORED NOT NULL,
	CONSTRAINT "customers_pkey" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
-- A contact of a customer; a unique index holds that one customer has it.
CREATE TABLE "customer_contacts" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"customer_id" uuid NOT NULL,
	"position" integer NOT NULL,
	"identifier_type" text NOT NULL,
	"identifier_value" text NOT NULL,
	"contact_key" text NOT NULL,
	"phone_number" text,
	"display_name" text,
	"archived_at" timestamp (3) with time zone,
	CONSTRAINT "customer_contacts_pkey" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
-- The read row of a customer that is not archived.
CREATE TABLE "customer_bodies" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL,
	"rendering" integer NOT NULL,
	"body" text NOT NULL,
	CONSTRAINT "customer_bodies_pkey" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
-- The search row of a customer that is not archived.
CREATE TABLE "searchable_customers" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"tags" text[] DEFAULT '{}'::text[] NOT NULL,
	"search" text NOT NULL,
	"archived_at" timestamp (3) with time zone,
	CONSTRAINT "searchable_customers_pkey" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
-- A column of the sales pipeline.
CREATE TABLE "pipeline_stages" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"key" text NOT NULL,
	"name" text NOT NULL,
	"position" integer DEFAULT 0 NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"archived_at" timestamp (3) with time zone,
	CONSTRAINT "pipeline_stages_pkey" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
-- A member of the team.
CREATE TABLE "team_members" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"user_id" text NOT NULL,
	"name" text NOT NULL,
	"email" text NOT NULL,
	"roles" text[] DEFAULT '{}'::text[] NOT NULL,
	"is_assignable" boolean DEFAULT true NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"archived_at" timestamp (3) with time zone,
	CONSTRAINT "team_members_pkey" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
-- A sales lead.
CREATE TABLE "opportunities" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"title" text,
	"short_ref" text,
	"destination" text,
	"customer_id" uuid,
	"seller_member_id" uuid,
	"budget_min" numeric,
	"budget_max" numeric,
	"budget_currency" text,
	"check_in_date" text,
	"nights" integer,
	"passenger_count" integer,
	"sales_stage" text NOT NULL,
	"stage_id" uuid,
	"temperature" text,
	"temperature_override" text,
	"qualified_at" timestamp (3) with time zone,
	"last_activity_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"archived_at" timestamp (3) with time zone,
	"search" text GENERATED ALWAYS AS (public.fold_text(coalesce(title, '') || chr(31) || coalesce(short_ref, '') || chr(31) || coalesce(destination, ''))) STORED NOT NULL,
	CONSTRAINT "opportunities_pkey" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
-- A thread; threads with one chain_id are a rotated conversation.
CREATE TABLE "conversations" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"channel" text NOT NULL,
	"contact" text NOT NULL,
	"contact_name" text,
	"customer_id" uuid,
	"activity_state" text,
	"controlled_by" text,
	"language" text,
	"rotated_from" uuid,
	"continued_by" uuid,
	"chain_id" uuid NOT NULL,
	"message_count" integer DEFAULT 0 NOT NULL,
	"last_message_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"search" text GENERATED ALWAYS AS (public.fold_text(coalesce(contact_name, '') || chr(31) || coalesce(contact, ''))) STORED NOT NULL,
	CONSTRAINT "conversations_pkey" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
-- A message of a thread on WhatsApp.
CREATE TABLE "whatsapp_messages" (
	"organization_id" uuid NOT NULL,
	"conversation_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"content" text NOT NULL,
	"direction" text NOT NULL,
	"message_type" text NOT NULL,
	"sender_name" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"provider_message_id" text,
	"delivery_status" text,
	"delivery_status_at" timestamp (3) with time zone,
	"template_name" text,
	CONSTRAINT "whatsapp_messages_pkey" PRIMARY KEY("organization_id","conversation_id","id")
);
--> statement-breakpoint
-- A message of a thread on any other channel.
CREATE TABLE "channel_messages" (
	"organization_id" uuid NOT NULL,
	"conversation_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"content" text NOT NULL,
	"direction" text NOT NULL,
	"message_type" text NOT NULL,
	"sender_name" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"provider_name" text,
	"external_id" text,
	"subject" text,
	CONSTRAINT "channel_messages_pkey" PRIMARY KEY("organization_id","conversation_id","id")
);
--> statement-breakpoint
-- A quote of an opportunity.
CREATE TABLE "quotes" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"opportunity_id" uuid NOT NULL,
	"title" text NOT NULL,
	"status" text NOT NULL,
	"destination" text,
	"customer_id" uuid,
	"price" numeric,
	"currency" text,
	"token" text NOT NULL,
	"open_count" integer DEFAULT 0 NOT NULL,
	"first_opened_at" timestamp (3) with time zone,
	"last_opened_at" timestamp (3) with time zone,
	"published_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"archived_at" timestamp (3) with time zone,
	"search" text GENERATED ALWAYS AS (public.fold_text(coalesce(title, '') || chr(31) || coalesce(destination, ''))) STORED NOT NULL,
	CONSTRAINT "quotes_pkey" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
-- A file of a quote; the file itself is on a disk or in S3.
CREATE TABLE "quote_attachments" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"quote_id" uuid NOT NULL,
	"file_name" text NOT NULL,
	"kind" text NOT NULL,
	"mime_type" text NOT NULL,
	"size_bytes" bigint NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "quote_attachments_pkey" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
-- A part of the number of live records of one kind; the sum of the parts counts.
CREATE TABLE "live_counts" (
	"organization_id" uuid NOT NULL,
	"resource" text NOT NULL,
	"slot" smallint NOT NULL,
	"live" bigint NOT NULL,
	CONSTRAINT "live_counts_pkey" PRIMARY KEY("organization_id","resource","slot")
);
--> statement-breakpoint
-- The first answer to a POST with an Idempotency-Key, for a day.
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
-- Every foreign key carries the organization: no row can lead to a row of another one.
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_organization_fkey" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "products" ADD CONSTRAINT "products_organization_fkey" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "product_variants" ADD CONSTRAINT "product_variants_product_fkey" FOREIGN KEY ("organization_id","product_id") REFERENCES "public"."products"("organization_id","id") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "product_bodies" ADD CONSTRAINT "product_bodies_product_fkey" FOREIGN KEY ("organization_id","id") REFERENCES "public"."products"("organization_id","id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "searchable_products" ADD CONSTRAINT "searchable_products_product_fkey" FOREIGN KEY ("organization_id","id") REFERENCES "public"."products"("organization_id","id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "customers" ADD CONSTRAINT "customers_organization_fkey" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "customer_contacts" ADD CONSTRAINT "customer_contacts_customer_fkey" FOREIGN KEY ("organization_id","customer_id") REFERENCES "public"."customers"("organization_id","id") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "customer_bodies" ADD CONSTRAINT "customer_bodies_customer_fkey" FOREIGN KEY ("organization_id","id") REFERENCES "public"."customers"("organization_id","id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "searchable_customers" ADD CONSTRAINT "searchable_customers_customer_fkey" FOREIGN KEY ("organization_id","id") REFERENCES "public"."customers"("organization_id","id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "pipeline_stages" ADD CONSTRAINT "pipeline_stages_organization_fkey" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "team_members" ADD CONSTRAINT "team_members_organization_fkey" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "opportunities" ADD CONSTRAINT "opportunities_organization_fkey" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "opportunities" ADD CONSTRAINT "opportunities_customer_fkey" FOREIGN KEY ("organization_id","customer_id") REFERENCES "public"."customers"("organization_id","id") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "opportunities" ADD CONSTRAINT "opportunities_seller_member_fkey" FOREIGN KEY ("organization_id","seller_member_id") REFERENCES "public"."team_members"("organization_id","id") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "opportunities" ADD CONSTRAINT "opportunities_stage_fkey" FOREIGN KEY ("organization_id","stage_id") REFERENCES "public"."pipeline_stages"("organization_id","id") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "conversations" ADD CONSTRAINT "conversations_organization_fkey" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "conversations" ADD CONSTRAINT "conversations_customer_fkey" FOREIGN KEY ("organization_id","customer_id") REFERENCES "public"."customers"("organization_id","id") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "conversations" ADD CONSTRAINT "conversations_rotated_from_fkey" FOREIGN KEY ("organization_id","rotated_from") REFERENCES "public"."conversations"("organization_id","id") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "whatsapp_messages" ADD CONSTRAINT "whatsapp_messages_conversation_fkey" FOREIGN KEY ("organization_id","conversation_id") REFERENCES "public"."conversations"("organization_id","id") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "channel_messages" ADD CONSTRAINT "channel_messages_conversation_fkey" FOREIGN KEY ("organization_id","conversation_id") REFERENCES "public"."conversations"("organization_id","id") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "quotes" ADD CONSTRAINT "quotes_organization_fkey" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "quotes" ADD CONSTRAINT "quotes_opportunity_fkey" FOREIGN KEY ("organization_id","opportunity_id") REFERENCES "public"."opportunities"("organization_id","id") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "quotes" ADD CONSTRAINT "quotes_customer_fkey" FOREIGN KEY ("organization_id","customer_id") REFERENCES "public"."customers"("organization_id","id") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "quote_attachments" ADD CONSTRAINT "quote_attachments_quote_fkey" FOREIGN KEY ("organization_id","quote_id") REFERENCES "public"."quotes"("organization_id","id") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "live_counts" ADD CONSTRAINT "live_counts_organization_fkey" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
-- Authentication: the only lookup that does not know the organization yet, but finds it.
CREATE UNIQUE INDEX "api_keys_hash_key" ON "api_keys" USING btree ("hash");
--> statement-breakpoint
-- The dashboard's archive, latest first.
CREATE INDEX "products_archived_idx" ON "products" USING btree ("organization_id","archived_at" DESC NULLS LAST,"id" DESC NULLS LAST) WHERE archived_at is not null;
--> statement-breakpoint
-- The purge of all organizations together, oldest first, from the index alone.
CREATE INDEX "products_due_idx" ON "products" USING btree ("archived_at","organization_id","id") WHERE archived_at is not null;
--> statement-breakpoint
-- The variants of a product, in order.
CREATE UNIQUE INDEX "product_variants_position_key" ON "product_variants" USING btree ("organization_id","product_id","position");
--> statement-breakpoint
-- The list of products, in its order.
CREATE INDEX "product_bodies_live_idx" ON "product_bodies" USING btree ("organization_id","updated_at" DESC NULLS LAST,"id" DESC NULLS LAST);
--> statement-breakpoint
-- The list filtered by status, type or budgetTier. The columns after the id serve two filters at once: the total is counted in the index.
CREATE INDEX "product_bodies_status_idx" ON "product_bodies" USING btree ("organization_id","status","updated_at" DESC NULLS LAST,"id" DESC NULLS LAST,"type","budget_tier");
--> statement-breakpoint
CREATE INDEX "product_bodies_type_idx" ON "product_bodies" USING btree ("organization_id","type","updated_at" DESC NULLS LAST,"id" DESC NULLS LAST,"budget_tier");
--> statement-breakpoint
CREATE INDEX "product_bodies_budget_tier_idx" ON "product_bodies" USING btree ("organization_id","budget_tier","updated_at" DESC NULLS LAST,"id" DESC NULLS LAST);
--> statement-breakpoint
-- The list filtered by externalReferenceCode.
CREATE INDEX "product_bodies_external_reference_code_idx" ON "product_bodies" USING btree ("organization_id","external_reference_code","updated_at" DESC NULLS LAST,"id" DESC NULLS LAST) WHERE external_reference_code is not null;
--> statement-breakpoint
-- The list filtered by query, also together with other filters.
CREATE INDEX "searchable_products_idx" ON "searchable_products" USING gin ("organization_id","external_reference_code","search" gin_trgm_ops) WITH (fastupdate=true,gin_pending_list_limit=64) WHERE archived_at is null;
--> statement-breakpoint
-- One person is one record: within an organization, a live contact belongs to one customer.
CREATE UNIQUE INDEX "customer_contacts_live_key" ON "customer_contacts" USING btree ("organization_id","identifier_type","contact_key") WHERE archived_at is null;
--> statement-breakpoint
-- The contacts of a customer, in order.
CREATE INDEX "customer_contacts_customer_idx" ON "customer_contacts" USING btree ("organization_id","customer_id","position");
--> statement-breakpoint
-- The list of customers, in its order.
CREATE INDEX "customer_bodies_live_idx" ON "customer_bodies" USING btree ("organization_id","updated_at" DESC NULLS LAST,"id" DESC NULLS LAST);
--> statement-breakpoint
-- The list filtered by query, by tag, or by both.
CREATE INDEX "searchable_customers_idx" ON "searchable_customers" USING gin ("organization_id","tags","search" gin_trgm_ops) WITH (fastupdate=true,gin_pending_list_limit=64) WHERE archived_at is null;
--> statement-breakpoint
-- The list of the team, in its order.
CREATE INDEX "team_members_live_idx" ON "team_members" USING btree ("organization_id","created_at","id") WHERE archived_at is null;
--> statement-breakpoint
-- The list of opportunities, in its order; then filtered by salesStage (and stageId), stageId, customerId.
CREATE INDEX "opportunities_live_idx" ON "opportunities" USING btree ("organization_id","updated_at" DESC NULLS LAST,"id" DESC NULLS LAST) WHERE archived_at is null;
--> statement-breakpoint
CREATE INDEX "opportunities_sales_stage_idx" ON "opportunities" USING btree ("organization_id","sales_stage","updated_at" DESC NULLS LAST,"id" DESC NULLS LAST,"stage_id") WHERE archived_at is null;
--> statement-breakpoint
CREATE INDEX "opportunities_stage_idx" ON "opportunities" USING btree ("organization_id","stage_id","updated_at" DESC NULLS LAST,"id" DESC NULLS LAST) WHERE archived_at is null;
--> statement-breakpoint
CREATE INDEX "opportunities_customer_idx" ON "opportunities" USING btree ("organization_id","customer_id","updated_at" DESC NULLS LAST,"id" DESC NULLS LAST) WHERE archived_at is null;
--> statement-breakpoint
-- The list filtered by temperature or by sellerMemberId; each with the columns of the other filters, for several at once.
CREATE INDEX "opportunities_temperature_idx" ON "opportunities" USING btree ("organization_id",coalesce("temperature_override", "temperature"),"updated_at" DESC NULLS LAST,"id" DESC NULLS LAST,"temperature_override","temperature","sales_stage","stage_id","seller_member_id") WHERE archived_at is null;
--> statement-breakpoint
CREATE INDEX "opportunities_seller_idx" ON "opportunities" USING btree ("organization_id","seller_member_id","updated_at" DESC NULLS LAST,"id" DESC NULLS LAST,"sales_stage","stage_id","temperature_override","temperature") WHERE archived_at is null;
--> statement-breakpoint
-- The list filtered by query.
CREATE INDEX "opportunities_search_idx" ON "opportunities" USING gin ("organization_id","search" gin_trgm_ops) WITH (fastupdate=false) WHERE archived_at is null;
--> statement-breakpoint
-- A chain does not fork: a thread is continued by one other at most.
CREATE UNIQUE INDEX "conversations_rotated_from_key" ON "conversations" USING btree ("organization_id","rotated_from") WHERE rotated_from is not null;
--> statement-breakpoint
-- The threads of a transcript.
CREATE INDEX "conversations_chain_idx" ON "conversations" USING btree ("organization_id","chain_id");
--> statement-breakpoint
-- The list of conversations, in its order; then filtered by channel, activityState (and channel), customerId.
CREATE INDEX "conversations_newest_idx" ON "conversations" USING btree ("organization_id","last_message_at" DESC NULLS LAST,"id" DESC NULLS LAST) WHERE continued_by is null;
--> statement-breakpoint
CREATE INDEX "conversations_channel_idx" ON "conversations" USING btree ("organization_id","channel","last_message_at" DESC NULLS LAST,"id" DESC NULLS LAST) WHERE continued_by is null;
--> statement-breakpoint
CREATE INDEX "conversations_activity_state_idx" ON "conversations" USING btree ("organization_id","activity_state","last_message_at" DESC NULLS LAST,"id" DESC NULLS LAST,"channel") WHERE continued_by is null;
--> statement-breakpoint
CREATE INDEX "conversations_customer_idx" ON "conversations" USING btree ("organization_id","customer_id","last_message_at" DESC NULLS LAST,"id" DESC NULLS LAST) WHERE continued_by is null;
--> statement-breakpoint
-- The list filtered by query.
CREATE INDEX "conversations_search_idx" ON "conversations" USING gin ("organization_id","search" gin_trgm_ops) WITH (fastupdate=false) WHERE continued_by is null;
--> statement-breakpoint
-- The newest messages of a thread.
CREATE INDEX "whatsapp_messages_transcript_idx" ON "whatsapp_messages" USING btree ("organization_id","conversation_id","created_at" DESC NULLS LAST,"id" DESC NULLS LAST);
--> statement-breakpoint
-- The newest messages of a thread.
CREATE INDEX "channel_messages_transcript_idx" ON "channel_messages" USING btree ("organization_id","conversation_id","created_at" DESC NULLS LAST,"id" DESC NULLS LAST);
--> statement-breakpoint
-- The token of a public link is that of one quote.
CREATE UNIQUE INDEX "quotes_token_key" ON "quotes" USING btree ("organization_id","token");
--> statement-breakpoint
-- The list of quotes, in its order; then filtered by status, opportunityId, customerId.
CREATE INDEX "quotes_live_idx" ON "quotes" USING btree ("organization_id","updated_at" DESC NULLS LAST,"id" DESC NULLS LAST) WHERE archived_at is null;
--> statement-breakpoint
CREATE INDEX "quotes_status_idx" ON "quotes" USING btree ("organization_id","status","updated_at" DESC NULLS LAST,"id" DESC NULLS LAST) WHERE archived_at is null;
--> statement-breakpoint
CREATE INDEX "quotes_opportunity_idx" ON "quotes" USING btree ("organization_id","opportunity_id","updated_at" DESC NULLS LAST,"id" DESC NULLS LAST) WHERE archived_at is null;
--> statement-breakpoint
CREATE INDEX "quotes_customer_idx" ON "quotes" USING btree ("organization_id","customer_id","updated_at" DESC NULLS LAST,"id" DESC NULLS LAST) WHERE archived_at is null;
--> statement-breakpoint
-- The list filtered by query.
CREATE INDEX "quotes_search_idx" ON "quotes" USING gin ("organization_id","search" gin_trgm_ops) WITH (fastupdate=false) WHERE archived_at is null;
--> statement-breakpoint
-- The attachments of a quote, oldest first.
CREATE INDEX "quote_attachments_quote_idx" ON "quote_attachments" USING btree ("organization_id","quote_id","created_at","id");
--> statement-breakpoint
-- The sweep, oldest first: of all organizations at once.
CREATE INDEX "idempotency_keys_created_at_idx" ON "idempotency_keys" USING btree ("created_at");
--> statement-breakpoint
-- A body of up to 8 kB stays in its row, uncompressed: to unpack it, or to fetch it from elsewhere, costs a read most of its time.
ALTER TABLE "product_bodies" SET (toast_tuple_target = 8160);
--> statement-breakpoint
ALTER TABLE "product_bodies" ALTER COLUMN "body" SET STORAGE EXTERNAL;
--> statement-breakpoint
ALTER TABLE "customer_bodies" SET (toast_tuple_target = 8160);
--> statement-breakpoint
ALTER TABLE "customer_bodies" ALTER COLUMN "body" SET STORAGE EXTERNAL;
