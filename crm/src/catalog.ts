import type { CatalogProduct, CatalogProductUpdate } from '../../client/src/index.ts';
import type { Body } from './columns.ts';
import type { Context } from './context.ts';

/** Rows compared with the catalog, by externalReferenceCode. */

/** The active products that have a code. */
export async function productsByCode(context: Context): Promise<Map<string, CatalogProduct[]>> {
  const byCode = new Map<string, CatalogProduct[]>();
  for (const product of await context.crm.products.snapshot({}, { signal: context.stop })) {
    const code = product.externalReferenceCode;
    if (code) byCode.set(code, [...(byCode.get(code) ?? []), product]);
  }
  return byCode;
}

/** Null clears a list, which then reads as empty. */
const isSame = (wanted: unknown, have: unknown): boolean =>
  JSON.stringify(Array.isArray(have) ? (wanted ?? []) : wanted) === JSON.stringify(have);

/** The fields that differ. */
export const differences = (product: CatalogProduct, body: Body): CatalogProductUpdate =>
  Object.fromEntries(
    Object.entries(body).filter(([name, wanted]) => !isSame(wanted, product[name as keyof CatalogProduct])),
  );

/** Whether each variant of the row says of its fields what the product has. A field that the row leaves out may have any value. */
export function hasVariants({ variants: have }: CatalogProduct, wanted: unknown): boolean {
  if (wanted === undefined) return true;
  if (!Array.isArray(wanted) || wanted.length !== have.length) return false;
  return have.every((variant, index) =>
    Object.entries(wanted[index] ?? {}).every(([name, value]) =>
      isSame(value, variant[name as keyof typeof variant]),
    ),
  );
}
