-- A copy goes with its record, also when a release deletes the record that does not know the copy. The lock comes
-- first, in the order of those who write: whoever has the record's table gets the copies' too.
LOCK TABLE "customers", "customer_bodies", "searchable_customers" IN ACCESS EXCLUSIVE MODE;
--> statement-breakpoint
ALTER TABLE "customer_bodies" DROP CONSTRAINT "customer_bodies_customer_fkey";
--> statement-breakpoint
ALTER TABLE "customer_bodies" ADD CONSTRAINT "customer_bodies_customer_fkey" FOREIGN KEY ("organization_id","id") REFERENCES "public"."customers"("organization_id","id") ON DELETE cascade ON UPDATE no action NOT VALID;
--> statement-breakpoint
ALTER TABLE "searchable_customers" DROP CONSTRAINT "searchable_customers_customer_fkey";
--> statement-breakpoint
ALTER TABLE "searchable_customers" ADD CONSTRAINT "searchable_customers_customer_fkey" FOREIGN KEY ("organization_id","id") REFERENCES "public"."customers"("organization_id","id") ON DELETE cascade ON UPDATE no action NOT VALID;
