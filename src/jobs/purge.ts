import { purgeCatalogProducts } from '../catalog/repository.ts';
import { inBatches, type JobContext } from './context.ts';

export async function purgeProducts(context: JobContext): Promise<{ products: number; variants: number }> {
  const purged = { products: 0, variants: 0 };
  await inBatches(context, 200, async (limit) => {
    const batch = await purgeCatalogProducts(context.db, limit);
    for (const { organizationId, id, archivedAt, variants } of batch) {
      context.logger.info({ organizationId, productId: id, archivedAt, variants }, 'purged a product');
      purged.variants += variants;
    }
    purged.products += batch.length;
    return batch.length;
  });
  return purged;
}
