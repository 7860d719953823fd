-- Bodies are kept with their record, so that reading does not render them again.
CREATE TABLE "customer_bodies" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL,
	"rendering" integer NOT NULL,
	"body" text NOT NULL,
	CONSTRAINT "customer_bodies_pkey" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE TABLE "product_bodies" (
	"organization_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL,
	"rendering" integer NOT NULL,
	"body" text NOT NULL,
	CONSTRAINT "product_bodies_pkey" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
ALTER TABLE "customer_bodies" ADD CONSTRAINT "customer_bodies_customer_fkey" FOREIGN KEY ("organization_id","id") REFERENCES "public"."customers"("organization_id","id") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "product_bodies" ADD CONSTRAINT "product_bodies_product_fkey" FOREIGN KEY ("organization_id","id") REFERENCES "public"."products"("organization_id","id") ON DELETE no action ON UPDATE no action;

--> statement-breakpoint
-- A body of up to 8 kB stays in its row, uncompressed: to unpack it, or to fetch it from elsewhere, costs a read most of its time.
ALTER TABLE "product_bodies" SET (toast_tuple_target = 8160);
--> statement-breakpoint
ALTER TABLE "product_bodies" ALTER COLUMN "body" SET STORAGE EXTERNAL;
--> statement-breakpoint
ALTER TABLE "customer_bodies" SET (toast_tuple_target = 8160);
--> statement-breakpoint
ALTER TABLE "customer_bodies" ALTER COLUMN "body" SET STORAGE EXTERNAL;
