/** How much text a product may have, its variants included: what a page of a hundred of them weighs follows from it. */

/** Bytes of the texts as they stand in JSON, in UTF-8, with their quotes. */
export const MAX_PRODUCT_TEXT = 256 * 1024;

/** Every text that is kept as it was sent, of products and of variants. */
const TEXTS = [
  'title',
  'label',
  'coverImage',
  'currency',
  'description',
  'shortDescription',
  'specialConditions',
  'destinations',
  'includes',
  'excludes',
  'gallery',
  'externalReferenceCode',
  'operator',
  'priceBasis',
  'validFrom',
  'validUntil',
] as const;

type Texts = { [Field in (typeof TEXTS)[number]]?: unknown } & { variants?: readonly Texts[] };

type Path = (string | number)[];
type Field = { path: Path; bytes: number };

const bytesOf = (value: unknown): number => {
  if (typeof value === 'string') return Buffer.byteLength(JSON.stringify(value));
  return Array.isArray(value) ? value.reduce<number>((sum, entry) => sum + bytesOf(entry), 0) : 0;
};

const fieldsOf = (texts: Texts, at: Path): Field[] => [
  ...TEXTS.map((field) => ({ path: [...at, field], bytes: bytesOf(texts[field]) })),
  ...(texts.variants ?? []).flatMap((variant, index) => fieldsOf(variant, [...at, 'variants', index])),
];

/** Whether anything that is sent could make a product's text longer. */
export const hasText = (sent: Texts): boolean => TEXTS.some((field) => bytesOf(sent[field]) > 0);

const total = (fields: readonly Field[]): number => fields.reduce((sum, { bytes }) => sum + bytes, 0);

export type TextFault = { path: Path; message: string };

/**
 * The field to shorten when the product, with what is sent over it, would have more text than it may and more than before;
 * undefined when all is well. It is the largest of those that were sent.
 */
export function textFault(sent: Texts, stored: Texts = {}): TextFault | undefined {
  const fields = fieldsOf(sent, []);
  const before = total(fieldsOf(stored, []));
  const after = total(fieldsOf({ ...stored, ...sent }, []));
  if (after <= MAX_PRODUCT_TEXT || after <= before) return undefined;
  const [largest] = fields.sort((one, other) => other.bytes - one.bytes);
  return {
    path: largest?.path ?? [],
    message: `must be shorter: all text of a product with its variants takes at most ${MAX_PRODUCT_TEXT} bytes, this would be ${after}`,
  };
}
