-- The same for products, apart: nobody waits for the locks of both.
LOCK TABLE "products", "product_bodies", "searchable_products" IN ACCESS EXCLUSIVE MODE;
--> statement-breakpoint
ALTER TABLE "product_bodies" DROP CONSTRAINT "product_bodies_product_fkey";
--> statement-breakpoint
ALTER TABLE "product_bodies" ADD CONSTRAINT "product_bodies_product_fkey" FOREIGN KEY ("organization_id","id") REFERENCES "public"."products"("organization_id","id") ON DELETE cascade ON UPDATE no action NOT VALID;
--> statement-breakpoint
ALTER TABLE "searchable_products" DROP CONSTRAINT "searchable_products_product_fkey";
--> statement-breakpoint
ALTER TABLE "searchable_products" ADD CONSTRAINT "searchable_products_product_fkey" FOREIGN KEY ("organization_id","id") REFERENCES "public"."products"("organization_id","id") ON DELETE cascade ON UPDATE no action NOT VALID;
