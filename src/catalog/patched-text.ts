import { textFault } from '../../rules/product-text.ts';
import { validationFailed } from '../contract/errors.ts';
import { inTransaction, type OrganizationScope } from '../db/pool/scope.ts';
import { parseJson } from '../db/sql/json.ts';
import { pathOf } from '../http/validation.ts';
import { lockCatalogProduct } from './repository.ts';

/** Patches of up to 1 KiB skip the check. Each replaces a field, so a product can pass its limit by 1 KiB per text field at most. */
const SHORT = 1_024;

/**
 * Holds a PATCH to the limit of a product's text, the stored product counted, under the product's lock.
 * @param work runs in the scope that it is given
 * @throws VALIDATION_FAILED and CATALOG_PRODUCT_NOT_FOUND
 */
export async function withinTextLimit<Result>(
  scope: OrganizationScope,
  id: string,
  patch: object,
  work: (scope: OrganizationScope) => Promise<Result>,
): Promise<Result> {
  if (Buffer.byteLength(JSON.stringify(patch)) <= SHORT) return work(scope);
  return inTransaction(scope, async (locked) => {
    const fault = textFault(patch, parseJson(await lockCatalogProduct(locked, id)));
    if (fault) throw validationFailed([{ path: pathOf('body', fault.path), message: fault.message }]);
    return work(locked);
  });
}
