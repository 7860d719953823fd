/** What generators of clients need of the schemas, and zod's own output does not have. */

export type Schema = Record<string, unknown>;
type Document = { paths: object; components: { schemas: Record<string, Schema> } };

export const referTo = (kind: string, name: string) => ({ $ref: `#/components/${kind}/${name}` });

const isObject = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Every value below, with objects rewritten from the inside out. */
const rewritten = <Value>(value: Value, change: (object: Schema) => Schema): Value =>
  JSON.parse(JSON.stringify(value), (_key, part) => (isObject(part) ? change(part) : part));

/** `anyOf: [X, null]` becomes X with null among its types and its enum: one way to write "or null", which a copy in 3.0 keeps. */
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
 * Without closed objects, which would make clients reject new fields, and without the pattern of every date and the widest
 * range; an integer of 32 bits has its format.
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

/** The default of a body's field in words. As `default`, generators take it for a field that requests must have. */
function defaultInWords({ default: preset, ...schema }: Schema): Schema {
  if (preset === undefined) return schema;
  const said = `Default: \`${JSON.stringify(preset).replaceAll('"', '')}\`.`;
  return { ...schema, description: [schema.description, said].filter(Boolean).join(' ') };
}

export function tidied<Made extends Document>(made: Made): Made {
  const document = rewritten(made, (object) => open(nullable(object)));
  document.components.schemas = rewritten(document.components.schemas, defaultInWords);
  return document;
}

const REFERENCE = /"#\/components\/schemas\/(\w+)"/g;

/** The names of the schemas that a value leads to. */
function reached(value: unknown, schemas: Record<string, Schema>, found = new Set<string>()): Set<string> {
  for (const [, name = ''] of JSON.stringify(value).matchAll(REFERENCE))
    if (!found.has(name)) reached(schemas[name], schemas, found.add(name));
  return found;
}

/** Each schema that is referred to once, under its own name. The generator makes a second one, `…Input`, of each. */
export function deduplicated<Made extends Document>({ paths, components, ...rest }: Made): Made {
  const { schemas, ...others } = components;
  const used = reached([paths, others], schemas);
  const nameOf = (name: string): string => {
    const plain = name.replace(/Input$/, '');
    return used.has(plain) ? name : plain;
  };
  const renamed = Object.fromEntries([...used].sort().map((name) => [nameOf(name), schemas[name]]));
  const text = JSON.stringify({ ...rest, components: { ...others, schemas: renamed }, paths });
  return JSON.parse(text.replace(REFERENCE, (_, name: string) => `"#/components/schemas/${nameOf(name)}"`));
}
