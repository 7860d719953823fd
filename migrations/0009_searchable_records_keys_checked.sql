-- The keys of the migration before, for the rows that were there already.
ALTER TABLE "searchable_customers" VALIDATE CONSTRAINT "searchable_customers_customer_fkey";
--> statement-breakpoint
ALTER TABLE "searchable_products" VALIDATE CONSTRAINT "searchable_products_product_fkey";
