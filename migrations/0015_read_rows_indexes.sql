-- Every visible record gets its read row, batch by batch: writers wait for one batch at most.
DO $$
DECLARE
  zero constant uuid := '00000000-0000-0000-0000-000000000000';
  from_organization uuid := zero; from_id uuid := zero; to_organization uuid; to_id uuid;
  is_cluster constant boolean := EXISTS (SELECT FROM pg_extension WHERE extname = 'citus');
BEGIN
  LOOP
    SELECT organization_id, id INTO to_organization, to_id FROM (
      SELECT organization_id, id FROM customers WHERE (organization_id, id) > (from_organization, from_id)
      ORDER BY organization_id, id LIMIT 2000) batch ORDER BY organization_id DESC, id DESC LIMIT 1;
    EXIT WHEN NOT FOUND;
    IF NOT is_cluster THEN
      PERFORM FROM customers WHERE (organization_id, id) > (from_organization, from_id)
        AND (organization_id, id) <= (to_organization, to_id) ORDER BY organization_id, id FOR NO KEY UPDATE;
    END IF;
    INSERT INTO customer_bodies AS kept (organization_id, id, updated_at, rendering, body)
    SELECT record.organization_id, record.id, record.updated_at, 0, '' FROM customers record
    WHERE (record.organization_id, record.id) > (from_organization, from_id)
      AND (record.organization_id, record.id) <= (to_organization, to_id) AND record.archived_at IS NULL AND NOT EXISTS (
        SELECT FROM customer_bodies kept WHERE kept.organization_id = record.organization_id AND kept.id = record.id
          AND row(kept.updated_at) IS NOT DISTINCT FROM row(record.updated_at))
    ON CONFLICT (organization_id, id) DO UPDATE
    SET updated_at = excluded.updated_at, rendering = CASE WHEN kept.updated_at = excluded.updated_at THEN kept.rendering ELSE 0 END;
    DELETE FROM customer_bodies kept USING customers record
    WHERE (record.organization_id, record.id) > (from_organization, from_id)
      AND (record.organization_id, record.id) <= (to_organization, to_id) AND record.archived_at IS NOT NULL
      AND kept.organization_id = record.organization_id AND kept.id = record.id;
    COMMIT;
    from_organization := to_organization; from_id := to_id;
  END LOOP;
END $$;
--> statement-breakpoint
DO $$
DECLARE
  zero constant uuid := '00000000-0000-0000-0000-000000000000';
  from_organization uuid := zero; from_id uuid := zero; to_organization uuid; to_id uuid;
  is_cluster constant boolean := EXISTS (SELECT FROM pg_extension WHERE extname = 'citus');
BEGIN
  LOOP
    SELECT organization_id, id INTO to_organization, to_id FROM (
      SELECT organization_id, id FROM products WHERE (organization_id, id) > (from_organization, from_id)
      ORDER BY organization_id, id LIMIT 2000) batch ORDER BY organization_id DESC, id DESC LIMIT 1;
    EXIT WHEN NOT FOUND;
    IF NOT is_cluster THEN
      PERFORM FROM products WHERE (organization_id, id) > (from_organization, from_id)
        AND (organization_id, id) <= (to_organization, to_id) ORDER BY organization_id, id FOR NO KEY UPDATE;
    END IF;
    INSERT INTO product_bodies AS kept (organization_id, id, updated_at, type, status, budget_tier, external_reference_code, rendering, body)
    SELECT record.organization_id, record.id, record.updated_at, record.type, record.status, record.budget_tier, record.external_reference_code, 0, '' FROM products record
    WHERE (record.organization_id, record.id) > (from_organization, from_id)
      AND (record.organization_id, record.id) <= (to_organization, to_id) AND record.archived_at IS NULL AND NOT EXISTS (
        SELECT FROM product_bodies kept WHERE kept.organization_id = record.organization_id AND kept.id = record.id
          AND row(kept.updated_at, kept.type, kept.status, kept.budget_tier, kept.external_reference_code) IS NOT DISTINCT FROM row(record.updated_at, record.type, record.status, record.budget_tier, record.external_reference_code))
    ON CONFLICT (organization_id, id) DO UPDATE
    SET updated_at = excluded.updated_at, type = excluded.type, status = excluded.status, budget_tier = excluded.budget_tier, external_reference_code = excluded.external_reference_code, rendering = CASE WHEN kept.updated_at = excluded.updated_at THEN kept.rendering ELSE 0 END;
    DELETE FROM product_bodies kept USING products record
    WHERE (record.organization_id, record.id) > (from_organization, from_id)
      AND (record.organization_id, record.id) <= (to_organization, to_id) AND record.archived_at IS NOT NULL
      AND kept.organization_id = record.organization_id AND kept.id = record.id;
    COMMIT;
    from_organization := to_organization; from_id := to_id;
  END LOOP;
END $$;
--> statement-breakpoint
CREATE INDEX CONCURRENTLY IF NOT EXISTS "customer_bodies_live_idx" ON "customer_bodies" USING btree ("organization_id","updated_at" DESC NULLS LAST,"id" DESC NULLS LAST);
--> statement-breakpoint
CREATE INDEX CONCURRENTLY IF NOT EXISTS "product_bodies_live_idx" ON "product_bodies" USING btree ("organization_id","updated_at" DESC NULLS LAST,"id" DESC NULLS LAST);
--> statement-breakpoint
CREATE INDEX CONCURRENTLY IF NOT EXISTS "product_bodies_status_idx" ON "product_bodies" USING btree ("organization_id","status","updated_at" DESC NULLS LAST,"id" DESC NULLS LAST,"type","budget_tier");
--> statement-breakpoint
CREATE INDEX CONCURRENTLY IF NOT EXISTS "product_bodies_type_idx" ON "product_bodies" USING btree ("organization_id","type","updated_at" DESC NULLS LAST,"id" DESC NULLS LAST,"budget_tier");
--> statement-breakpoint
CREATE INDEX CONCURRENTLY IF NOT EXISTS "product_bodies_budget_tier_idx" ON "product_bodies" USING btree ("organization_id","budget_tier","updated_at" DESC NULLS LAST,"id" DESC NULLS LAST);
--> statement-breakpoint
CREATE INDEX CONCURRENTLY IF NOT EXISTS "product_bodies_external_reference_code_idx" ON "product_bodies" USING btree ("organization_id","external_reference_code","updated_at" DESC NULLS LAST,"id" DESC NULLS LAST) WHERE external_reference_code is not null;
--> statement-breakpoint
ANALYZE "customer_bodies";
--> statement-breakpoint
ANALYZE "product_bodies";
--> statement-breakpoint
-- Lists look at read rows. An instance of the release before sorts its lists until it ends; a change of a record then touches
-- no index of the record's table.
DROP INDEX CONCURRENTLY IF EXISTS "customers_live_idx";
--> statement-breakpoint
DROP INDEX CONCURRENTLY IF EXISTS "products_live_idx";
--> statement-breakpoint
DROP INDEX CONCURRENTLY IF EXISTS "products_status_idx";
--> statement-breakpoint
DROP INDEX CONCURRENTLY IF EXISTS "products_type_idx";
--> statement-breakpoint
DROP INDEX CONCURRENTLY IF EXISTS "products_budget_tier_idx";
--> statement-breakpoint
DROP INDEX CONCURRENTLY IF EXISTS "products_external_reference_code_idx";
