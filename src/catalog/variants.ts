import { type FieldError, validationFailed } from '../contract/errors.ts';
import { newId } from '../db/index.ts';
import { CatalogProductVariant, type CatalogProductVariantUpdate } from './schema.ts';

const FIELDS = Object.keys(CatalogProductVariant.shape) as (keyof CatalogProductVariant)[];

type Input = Partial<Omit<CatalogProductVariantUpdate, 'id'>> & { id?: string | undefined };

/** The variant as responses return it: every field, in order. */
export function variantOf(input: Input, position: number): CatalogProductVariant {
  const { id = newId(), includes, excludes } = input;
  const given = { ...input, id, position, includes: includes ?? [], excludes: excludes ?? [] };
  const entries = FIELDS.map((field) => [field, (given as Partial<CatalogProductVariant>)[field] ?? null]);
  return Object.fromEntries(entries) as CatalogProductVariant;
}

/**
 * The variants of a product after a PATCH with this list. An entry with an id changes that variant, an entry
 * without an id is new, and a stored variant that the list omits is removed.
 * @throws VALIDATION_FAILED for an unknown or repeated id, or a new variant without a label
 */
export function patchedVariants(
  sent: readonly CatalogProductVariantUpdate[],
  stored: readonly CatalogProductVariant[],
): CatalogProductVariant[] {
  const byId = new Map(stored.map((variant) => [variant.id, variant]));
  const used = new Set<string>();
  const errors: FieldError[] = [];
  const variants = sent.map(({ id, ...fields }, position) => {
    const path = `body.variants[${position}]`;
    const known = id && byId.get(id.toLowerCase());
    if (id && !known)
      errors.push({ path: `${path}.id`, message: 'is not the id of a variant of this product' });
    if (known && used.size === used.add(known.id).size)
      errors.push({ path: `${path}.id`, message: 'must not be repeated' });
    if (!id && fields.label === undefined) errors.push({ path: `${path}.label`, message: 'is required' });
    return variantOf({ status: 'active', ...(known || {}), ...fields }, position);
  });
  if (errors.length > 0) throw validationFailed(errors);
  return variants;
}
