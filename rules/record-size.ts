/**
 * The largest records, in bytes of their JSON in UTF-8, for documents and messages: triggers of the migration reject what is larger.
 * A page of 100 records, and a transcript of 200 messages, stay below 13 MiB.
 */
export const MAX_BYTES = { product: 128 * 1024, customer: 64 * 1024, message: 64 * 1024 };

export type Bounded = keyof typeof MAX_BYTES;

export const jsonBytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

const NAMES: Record<Bounded, string> = {
  product: 'a product with its variants',
  customer: 'a customer',
  message: 'the content of a message',
};

export const sizeRule = (bounded: Bounded): string =>
  `As JSON in UTF-8, ${NAMES[bounded]} can have at most ${MAX_BYTES[bounded]} bytes.`;

function largestOf(sent: object): [name: string, value: unknown] {
  const sizes = Object.entries(sent).map(([name, value]) => ({
    name,
    value,
    size: jsonBytes(value ?? null),
  }));
  const [largest] = sizes.sort((one, other) => other.size - one.size);
  return [largest?.name ?? '', largest?.value];
}

/** The path of the largest field of a body; of an import, of the largest content. A restore has no body. */
export function largestPath(sent: object): string {
  const [name, value] = largestOf(sent);
  if (name !== 'data') return name ? `body.${name}` : 'body';
  const contents = (value as { content?: unknown }[]).map(({ content }) => content);
  return `body.data[${largestOf(contents)[0]}].content`;
}
