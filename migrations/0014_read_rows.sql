-- A read of products and customers is one row of one table. Their filters look at that row too.
-- The records' tables are locked first, as those who write lock them.
LOCK TABLE "customers", "products" IN SHARE ROW EXCLUSIVE MODE;
--> statement-breakpoint
ALTER TABLE "product_bodies" ADD COLUMN "type" text;
--> statement-breakpoint
ALTER TABLE "product_bodies" ADD COLUMN "status" text;
--> statement-breakpoint
ALTER TABLE "product_bodies" ADD COLUMN "budget_tier" text;
--> statement-breakpoint
ALTER TABLE "product_bodies" ADD COLUMN "external_reference_code" text;
--> statement-breakpoint
-- Ends a write that must not be, with an SQLSTATE of the service. The log of PostgreSQL gets the refusal, and no value.
CREATE FUNCTION public.refuse_unless(holds boolean, refusal text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF holds IS NOT TRUE THEN RAISE EXCEPTION USING ERRCODE = 'TC001', MESSAGE = refusal; END IF;
END $$;
--> statement-breakpoint
-- An instance of the release before goes on writing. When its transaction commits, a read row that is not of its record is
-- marked as one of no rendering, and that of an archived record goes. The next release drops both triggers. On a cluster,
-- where there are none, the release before is stopped first.
CREATE FUNCTION public.keep_customer_row() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.archived_at IS NULL AND EXISTS (SELECT FROM public.customer_bodies kept WHERE kept.organization_id = NEW.organization_id
    AND kept.id = NEW.id AND kept.updated_at = NEW.updated_at) THEN
    RETURN NULL;
  END IF;
  INSERT INTO public.customer_bodies AS kept (organization_id, id, updated_at, rendering, body)
  SELECT record.organization_id, record.id, record.updated_at, 0, '' FROM public.customers record
  WHERE record.organization_id = NEW.organization_id AND record.id = NEW.id AND record.archived_at IS NULL AND NOT EXISTS (
    SELECT FROM public.customer_bodies kept WHERE kept.organization_id = NEW.organization_id AND kept.id = NEW.id
      AND row(kept.updated_at) IS NOT DISTINCT FROM row(record.updated_at))
  ON CONFLICT (organization_id, id) DO UPDATE
  SET updated_at = excluded.updated_at, rendering = CASE WHEN kept.updated_at = excluded.updated_at THEN kept.rendering ELSE 0 END;
  DELETE FROM public.customer_bodies WHERE organization_id = NEW.organization_id AND id = NEW.id AND NEW.archived_at IS NOT NULL
    AND EXISTS (SELECT FROM public.customers record WHERE record.organization_id = NEW.organization_id AND record.id = NEW.id
      AND record.archived_at IS NOT NULL);
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE FUNCTION public.keep_product_row() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.archived_at IS NULL AND EXISTS (SELECT FROM public.product_bodies kept WHERE kept.organization_id = NEW.organization_id
    AND kept.id = NEW.id AND row(kept.updated_at, kept.type, kept.status, kept.budget_tier, kept.external_reference_code) IS NOT DISTINCT FROM row(NEW.updated_at, NEW.type, NEW.status, NEW.budget_tier, NEW.external_reference_code)) THEN
    RETURN NULL;
  END IF;
  INSERT INTO public.product_bodies AS kept (organization_id, id, updated_at, type, status, budget_tier, external_reference_code, rendering, body)
  SELECT record.organization_id, record.id, record.updated_at, record.type, record.status, record.budget_tier, record.external_reference_code, 0, '' FROM public.products record
  WHERE record.organization_id = NEW.organization_id AND record.id = NEW.id AND record.archived_at IS NULL AND NOT EXISTS (
    SELECT FROM public.product_bodies kept WHERE kept.organization_id = NEW.organization_id AND kept.id = NEW.id
      AND row(kept.updated_at, kept.type, kept.status, kept.budget_tier, kept.external_reference_code) IS NOT DISTINCT FROM row(record.updated_at, record.type, record.status, record.budget_tier, record.external_reference_code))
  ON CONFLICT (organization_id, id) DO UPDATE
  SET updated_at = excluded.updated_at, type = excluded.type, status = excluded.status, budget_tier = excluded.budget_tier, external_reference_code = excluded.external_reference_code, rendering = CASE WHEN kept.updated_at = excluded.updated_at THEN kept.rendering ELSE 0 END;
  DELETE FROM public.product_bodies WHERE organization_id = NEW.organization_id AND id = NEW.id AND NEW.archived_at IS NOT NULL
    AND EXISTS (SELECT FROM public.products record WHERE record.organization_id = NEW.organization_id AND record.id = NEW.id
      AND record.archived_at IS NOT NULL);
  RETURN NULL;
END $$;
--> statement-breakpoint
DO $$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_extension WHERE extname = 'citus') THEN
    CREATE CONSTRAINT TRIGGER customers_keep_row AFTER INSERT OR UPDATE ON public.customers
      DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.keep_customer_row();
  END IF;
END $$;
--> statement-breakpoint
DO $$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_extension WHERE extname = 'citus') THEN
    CREATE CONSTRAINT TRIGGER products_keep_row AFTER INSERT OR UPDATE ON public.products
      DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.keep_product_row();
  END IF;
END $$;
--> statement-breakpoint
-- New entries wait in a short list, so that a write does not go through the whole trigram index.
ALTER INDEX "searchable_customers_idx" SET (fastupdate = true, gin_pending_list_limit = 64);
--> statement-breakpoint
ALTER INDEX "searchable_products_idx" SET (fastupdate = true, gin_pending_list_limit = 64);
