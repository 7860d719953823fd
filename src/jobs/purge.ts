import { purgeCatalogProducts } from '../catalog/repository.ts';
import { inBatches, type JobContext } from './context.ts';

export async function purgeProducts(context: JobContext): Promise<{ products: number }> {
  const purged = { products: 0 };
  await inBatches(context, 200, async (limit) => {
    const batch = await purgeCatalogProducts(context.db, limit);
    for (const { organizationId, id } of batch)
      context.logger.info({ organizationId, productId: id }, 'purged a product');
    purged.products += batch.length;
    return batch.length;
  });
  return purged;
}
