-- The keys of the two migrations before, for the rows that were there already. A purge between 0007 and 0008 left copies
-- without a record.
DELETE FROM "searchable_customers" WHERE NOT EXISTS (SELECT FROM "customers" WHERE "customers"."organization_id" = "searchable_customers"."organization_id" AND "customers"."id" = "searchable_customers"."id");
--> statement-breakpoint
DELETE FROM "searchable_products" WHERE NOT EXISTS (SELECT FROM "products" WHERE "products"."organization_id" = "searchable_products"."organization_id" AND "products"."id" = "searchable_products"."id");
--> statement-breakpoint
ALTER TABLE "customer_bodies" VALIDATE CONSTRAINT "customer_bodies_customer_fkey";
--> statement-breakpoint
ALTER TABLE "searchable_customers" VALIDATE CONSTRAINT "searchable_customers_customer_fkey";
--> statement-breakpoint
ALTER TABLE "product_bodies" VALIDATE CONSTRAINT "product_bodies_product_fkey";
--> statement-breakpoint
ALTER TABLE "searchable_products" VALIDATE CONSTRAINT "searchable_products_product_fkey";
