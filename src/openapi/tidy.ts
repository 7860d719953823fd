/** Changes zod's JSON Schemas into what client generators need. */

export type Schema = Record<string, unknown>;
type Document = { paths: object; components: { schemas: Record<string, Schema> } };

export const referTo = (kind: string, name: string) => ({ $ref: `#/components/${kind}/${name}` });

const isObject = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const rewritten = <Value>(value: Value, change: (object: Schema) => Schema): Value =>
  JSON.parse(JSON.stringify(value), (_key, part) => (isObject(part) ? change(part) : part));

/** `anyOf: [X, null]` becomes X with null among its types and its enum values. */
function nullable(schema: Schema): Schema {
  const { anyOf, ...rest } = schema;
  const [inner, other] = Array.isArray(anyOf) ? anyOf : [];
  if (!isObject(inner) || typeof inner.type !== 'string' || other?.type !== 'null') return schema;
  const values = Array.isArray(inner.enum) && { enum: [...inner.enum, null] };
  return { ...inner, ...values, ...rest, type: [inner.type, 'null'] };
}

const INT32 = 2 ** 31 - 1;
const WIDEST: readonly unknown[] = [Number.MIN_SAFE_INTEGER, -INT32 - 1, Number.MAX_SAFE_INTEGER];

/**
 * Removes `additionalProperties: false`, which would make clients reject new fields, patterns of dates and ranges of all
 * integers; adds `int32`.
 */
function open(schema: Schema): Schema {
  const entries = Object.entries(schema).filter(
    ([key, value]) =>
      !(key === 'additionalProperties' && value === false) &&
      !(key === 'pattern' && /^date/.test(String(schema.format))) &&
      !((key === 'minimum' || key === 'maximum') && WIDEST.includes(value)),
  );
  return { ...Object.fromEntries(entries), ...(schema.maximum === INT32 && { format: 'int32' }) };
}

/** Moves the default of a body's field to its description: generators make a field with `default` required. */
function defaultInWords({ default: preset, ...schema }: Schema): Schema {
  if (preset === undefined) return schema;
  const text = `Default: \`${JSON.stringify(preset).replaceAll('"', '')}\`.`;
  return { ...schema, description: [schema.description, text].filter(Boolean).join(' ') };
}

export function tidied<Input extends Document>(input: Input): Input {
  const document = rewritten(input, (object) => open(nullable(object)));
  document.components.schemas = rewritten(document.components.schemas, defaultInWords);
  return document;
}

const REFERENCE = /"#\/components\/schemas\/(\w+)"/g;

function reachable(value: unknown, schemas: Record<string, Schema>, found = new Set<string>()): Set<string> {
  for (const [, name = ''] of JSON.stringify(value).matchAll(REFERENCE))
    if (!found.has(name)) reachable(schemas[name], schemas, found.add(name));
  return found;
}

/** Keeps one copy of each used schema: the generator adds a second one, `…Input`. */
export function deduplicated<Input extends Document>({ paths, components, ...rest }: Input): Input {
  const { schemas, ...others } = components;
  const used = reachable([paths, others], schemas);
  const nameOf = (name: string): string => {
    const plain = name.replace(/Input$/, '');
    return used.has(plain) ? name : plain;
  };
  const renamed = Object.fromEntries([...used].sort().map((name) => [nameOf(name), schemas[name]]));
  const text = JSON.stringify({ ...rest, components: { ...others, schemas: renamed }, paths });
  return JSON.parse(text.replace(REFERENCE, (_, name: string) => `"#/components/schemas/${nameOf(name)}"`));
}
