/** Changes zod's JSON Schemas into what client generators need. */

export type Schema = Record<string, unknown>;
type Document = { paths: object; components: { schemas: Record<string, Schema> } };

export const referTo = (kind: string, name: string) => ({ $ref: `#/components/${kind}/${name}` });

const isObject = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

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

/** `additionalProperties: false` would make clients reject new fields. The others are patterns of dates, and ranges of all integers. */
const isOmitted = (key: string, value: unknown, { format }: Schema): boolean =>
  (key === 'additionalProperties' && value === false) ||
  (key === 'pattern' && /^date/.test(String(format))) ||
  ((key === 'minimum' || key === 'maximum') && WIDEST.includes(value));

/** Moves the default of a body's field to its description: generators make a field with `default` required. */
function defaultInWords({ default: preset, ...schema }: Schema): Schema {
  if (preset === undefined) return schema;
  const text = `Default: \`${JSON.stringify(preset).replaceAll('"', '')}\`.`;
  return { ...schema, description: [schema.description, text].filter(Boolean).join(' ') };
}

export function tidied<Input extends Document>(input: Input): Input {
  const document = JSON.parse(JSON.stringify(input), function (this: Schema, key, part) {
    if (isOmitted(key, part, this)) return undefined;
    if (!isObject(part)) return part;
    return { ...nullable(part), ...(part.maximum === INT32 && { format: 'int32' }) };
  });
  document.components.schemas = JSON.parse(JSON.stringify(document.components.schemas), (_key, part) =>
    isObject(part) ? defaultInWords(part) : part,
  );
  return document;
}

const REFERENCE = /"#\/components\/schemas\/(\w+)"/g;

function reachable(value: unknown, schemas: Record<string, Schema>, found = new Set<string>()): Set<string> {
  for (const [, name = ''] of JSON.stringify(value).matchAll(REFERENCE))
    if (!found.has(name)) reachable(schemas[name], schemas, found.add(name));
  return found;
}

/** Keeps the schemas that are used, under one name: the generator calls those of requests `…Input`. */
export function deduplicated<Input extends Document>({ paths, components, ...rest }: Input): Input {
  const { schemas, ...others } = components;
  const used = [...reachable([paths, others], schemas)].sort();
  const renamed = Object.fromEntries(used.map((name) => [name.replace(/Input$/, ''), schemas[name]]));
  const text = JSON.stringify({ ...rest, components: { ...others, schemas: renamed }, paths });
  return JSON.parse(text.replaceAll(/("#\/components\/schemas\/\w+)Input"/g, '$1"'));
}
