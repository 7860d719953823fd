-- A copy belongs to a record. The rows that are there are checked by the next migration, while nobody waits.
ALTER TABLE "searchable_customers" ADD CONSTRAINT "searchable_customers_customer_fkey" FOREIGN KEY ("organization_id","id") REFERENCES "public"."customers"("organization_id","id") ON DELETE no action ON UPDATE no action NOT VALID;
--> statement-breakpoint
ALTER TABLE "searchable_products" ADD CONSTRAINT "searchable_products_product_fkey" FOREIGN KEY ("organization_id","id") REFERENCES "public"."products"("organization_id","id") ON DELETE no action ON UPDATE no action NOT VALID;
