/**
 * The largest records, in bytes of their JSON in UTF-8. A page of 100 records, and a transcript of 200 messages, stay below
 * 13 MiB. A message has 2 KiB beside its content.
 */
export const MAX_BYTES = { product: 128 * 1024, customer: 64 * 1024, content: 64 * 1024, message: 66 * 1024 };

export type Bounded = keyof typeof MAX_BYTES;

export const jsonBytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

const NAMES: Record<Bounded, string> = {
  product: 'a product with its variants',
  customer: 'a customer',
  content: 'the content of a message',
  message: 'a message',
};

/** For the description of a request. */
export const sizeRule = (bounded: Bounded): string =>
  `As JSON in UTF-8, ${NAMES[bounded]} can have at most ${MAX_BYTES[bounded]} bytes.`;

/** The error of a record with so many bytes, at the largest field of the request. */
export function sizeError(bounded: Bounded, sent: object, bytes: number): { field: string; message: string } {
  const sizes = Object.entries(sent).map(([field, value]) => ({ field, size: jsonBytes(value ?? null) }));
  const [largest] = sizes.sort((one, other) => other.size - one.size);
  return {
    field: largest?.field ?? '',
    message: `is too long: as JSON in UTF-8, ${NAMES[bounded]} can have ${MAX_BYTES[bounded]} bytes, and would have ${bytes}`,
  };
}
