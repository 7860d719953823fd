/** The limit of the text of a product with its variants, which bounds the size of a page. */

/** Bytes of the texts in JSON and UTF-8, with their quotes. */
export const MAX_PRODUCT_TEXT = 256 * 1024;

type Path = (string | number)[];
type Field = { path: Path; bytes: number };

/** Fields that the service sets, which do not count: a PATCH and a create have the same limit. */
const OWN = ['id', 'createdAt', 'updatedAt'];

/** Every field with text or a list of texts, also in lists of objects. */
function textFields(value: unknown, path: Path = []): Field[] {
  if (typeof value === 'string') return [{ path, bytes: Buffer.byteLength(JSON.stringify(value)) }];
  if (typeof value !== 'object' || value === null) return [];
  if (!Array.isArray(value))
    return Object.entries(value)
      .filter(([name]) => !OWN.includes(name))
      .flatMap(([name, inner]) => textFields(inner, [...path, name]));
  const entries = value.map((entry, index) => textFields(entry, [...path, index]));
  const isOfTexts = value.every((entry) => typeof entry === 'string');
  return isOfTexts ? [{ path, bytes: total(entries.flat()) }] : entries.flat();
}

const total = (fields: readonly Field[]): number => fields.reduce((sum, { bytes }) => sum + bytes, 0);

export type TextError = { path: Path; message: string };

/**
 * The error of a write that would make the text of the product longer than before and than the limit; undefined if there
 * is none. It names the largest field of the request.
 */
export function textError(sent: object, stored: object = {}): TextError | undefined {
  const before = total(textFields(stored));
  const after = total(textFields({ ...stored, ...sent }));
  if (after <= MAX_PRODUCT_TEXT || after <= before) return undefined;
  const [largest] = textFields(sent).sort((one, other) => other.bytes - one.bytes);
  return {
    path: largest?.path ?? [],
    message: `is too long: the text of a product with its variants can have ${MAX_PRODUCT_TEXT} bytes, and would have ${after}`,
  };
}
