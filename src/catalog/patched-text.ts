import { type Json, parseJson } from '../db/json.ts';
import { inTransaction, type OrganizationScope } from '../db/scope.ts';
import { validationFailed } from '../errors.ts';
import { pathOf } from '../http/validation.ts';
import { hasText, MAX_PRODUCT_TEXT, textFault } from './product-text.ts';
import { getCatalogProduct, lockCatalogProduct } from './repository.ts';
import type { CatalogProduct } from './schema.ts';

type Patch = Record<string, unknown>;

/** Bytes of a patch that is not worth a lock: two of these at once exceed the limit by no more than one of them has. */
const SHORT = 1_024;

/** @throws VALIDATION_FAILED */
function check(stored: Json<CatalogProduct>, patch: Patch, bytes: number): void {
  if (Buffer.byteLength(stored) + bytes <= MAX_PRODUCT_TEXT) return;
  const fault = textFault(patch, parseJson(stored));
  if (fault) throw validationFailed([{ path: pathOf('body', fault.path), message: fault.message }]);
}

/**
 * Holds a PATCH to the limit of a product's text, the stored product counted: a long one under the product's lock.
 * @param work runs in the scope that it is given
 * @throws VALIDATION_FAILED and CATALOG_PRODUCT_NOT_FOUND
 */
export async function withinTextLimit<Result>(
  scope: OrganizationScope,
  id: string,
  patch: Patch,
  work: (scope: OrganizationScope) => Promise<Result>,
): Promise<Result> {
  if (!hasText(patch)) return work(scope);
  const bytes = Buffer.byteLength(JSON.stringify(patch));
  if (bytes <= SHORT) {
    check(await getCatalogProduct(scope, id), patch, bytes);
    return work(scope);
  }
  return inTransaction(scope, async (locked) => {
    check(await lockCatalogProduct(locked, id), patch, bytes);
    return work(locked);
  });
}
