import { purgeCatalogProducts } from '../catalog/repository.ts';
import { sweepKeys } from '../db/index.ts';
import { inBatches, type JobContext } from './context.ts';

export const purgeProducts = async (context: JobContext) => ({
  products: await inBatches(context, 200, async (limit) => {
    const purged = await purgeCatalogProducts(context.db, limit);
    for (const { organizationId, id } of purged)
      context.logger.info({ organizationId, productId: id }, 'purged a product');
    return purged.length;
  }),
});

export const sweepIdempotencyKeys = async (context: JobContext) => ({
  keys: await inBatches(context, 1_000, (limit) => sweepKeys(context.db, limit)),
});
