/** How much text a product may have, with its variants. The size of a page of a hundred products follows from it. */

/** Bytes of the texts as they stand in JSON, in UTF-8, with their quotes. */
export const MAX_PRODUCT_TEXT = 256 * 1024;

type Path = (string | number)[];
type Field = { path: Path; bytes: number };

/** Fields that the service writes. They do not count: a PATCH may bring a product to as much text as a create may have. */
const OWN = ['id', 'createdAt', 'updatedAt'];

/** Every field that holds text or a list of texts, inside of lists of objects too. */
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

export type TextFault = { path: Path; message: string };

/**
 * The field to shorten when the product, with what is sent over it, would have more text than it may and more than before;
 * undefined when all is well. It is the largest of those that were sent.
 */
export function textError(sent: object, stored: object = {}): TextFault | undefined {
  const before = total(textFields(stored));
  const after = total(textFields({ ...stored, ...sent }));
  if (after <= MAX_PRODUCT_TEXT || after <= before) return undefined;
  const [largest] = textFields(sent).sort((one, other) => other.bytes - one.bytes);
  return {
    path: largest?.path ?? [],
    message: `is too long: the text of a product with its variants can have ${MAX_PRODUCT_TEXT} bytes, and would have ${after}`,
  };
}
