import { textError } from '../../rules/product-text.ts';
import { validationFailed } from '../contract/errors.ts';
import { inTransaction, type Json, type OrganizationScope, parseJson } from '../db/index.ts';
import { pathOf } from '../http/validation.ts';
import { lockCatalogProduct, updateCatalogProduct, updateDashboardFields } from './repository.ts';
import type { CatalogProduct, CatalogProductDashboardUpdate, CatalogProductUpdate } from './schema.ts';
import { patchedVariants } from './variants.ts';

/**
 * Patches of up to 1 KiB skip the lock and the check: a product can exceed its limit by at most 1 KiB per
 * text field.
 */
const SHORT = 1_024;

const isShort = (patch: object): boolean => Buffer.byteLength(JSON.stringify(patch)) <= SHORT;

/** Runs a PATCH under the lock of the product, and checks the text of the whole product with it. */
const lockedPatch = <Patch extends object>(
  scope: OrganizationScope,
  id: string,
  patchOf: (stored: CatalogProduct) => Patch,
  update: (scope: OrganizationScope, id: string, patch: Patch) => Promise<Json<CatalogProduct>>,
): Promise<Json<CatalogProduct>> =>
  inTransaction(scope, async (locked) => {
    const stored = parseJson(await lockCatalogProduct(locked, id));
    const patch = patchOf(stored);
    const error = textError(patch, stored);
    if (error) throw validationFailed([{ path: pathOf('body', error.path), message: error.message }]);
    return update(locked, id, patch);
  });

/** @throws VALIDATION_FAILED if the product would have too much text, CATALOG_PRODUCT_NOT_FOUND */
export const patchCatalogProduct = (
  scope: OrganizationScope,
  id: string,
  patch: CatalogProductUpdate,
): Promise<Json<CatalogProduct>> =>
  isShort(patch)
    ? updateCatalogProduct(scope, id, patch)
    : lockedPatch(scope, id, () => patch, updateCatalogProduct);

/**
 * The same for the fields that only the dashboard writes.
 * @throws VALIDATION_FAILED also for variants that do not match the stored ones
 */
export const patchDashboardFields = (
  scope: OrganizationScope,
  id: string,
  { variants, ...patch }: CatalogProductDashboardUpdate,
): Promise<Json<CatalogProduct>> => {
  if (!variants && isShort(patch)) return updateDashboardFields(scope, id, patch);
  const whole = (stored: CatalogProduct) => ({
    ...patch,
    ...(variants && { variants: patchedVariants(variants, stored.variants) }),
  });
  return lockedPatch(scope, id, whole, updateDashboardFields);
};
