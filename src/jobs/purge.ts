import { purgeCatalogProducts } from '../catalog/repository.ts';
import { retainedSince } from '../catalog/retention.ts';
import type { JobContext } from './context.ts';

export async function purgeProducts(context: JobContext): Promise<{ products: number; variants: number }> {
  const { db, logger, now = Date.now(), batchSize = 200, signal } = context;
  const purged = { products: 0, variants: 0 };
  let more = true;
  while (more && !signal?.aborted) {
    const batch = await purgeCatalogProducts(db, retainedSince(now), batchSize);
    for (const { organizationId, id, archivedAt, variants } of batch) {
      logger.info({ organizationId, productId: id, archivedAt, variants }, 'purged a product');
      purged.variants += variants;
    }
    purged.products += batch.length;
    more = batch.length === batchSize;
  }
  logger.info({ ...purged, stopped: more }, 'purged archived products');
  return purged;
}
