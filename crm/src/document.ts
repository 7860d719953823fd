import { readFileSync } from 'node:fs';

/** The OpenAPI document of the service: which fields there are, and what they take. */

/** What the document uses of JSON Schema. */
export type Schema = {
  $ref?: string;
  type?: string | string[];
  enum?: unknown[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
};

type Parameter = { name: string; in: string };
type Operation = { parameters?: (Parameter | { $ref: string })[] };

const {
  paths,
  components: { schemas, parameters },
} = JSON.parse(readFileSync(new URL('../../openapi/openapi.json', import.meta.url), 'utf8')) as {
  paths: Record<string, { get?: Operation }>;
  components: { schemas: Record<string, Schema>; parameters: Record<string, Parameter> };
};

/** The names of the filters that a list has. */
export const filtersOfList = (path: string): string[] =>
  (paths[path]?.get?.parameters ?? [])
    .map((one) => ('$ref' in one ? parameters[one.$ref.replace('#/components/parameters/', '')] : one))
    .flatMap((one) => (one?.in === 'query' && !['limit', 'offset'].includes(one.name) ? [one.name] : []));

const REFERENCE = '#/components/schemas/';

export const schemaOf = (name: string): Schema => ({ $ref: REFERENCE + name });

/** The schema itself, where this one refers to it. */
export const resolved = ({ $ref, ...schema }: Schema = {}): Schema =>
  $ref === undefined ? schema : (schemas[$ref.slice(REFERENCE.length)] ?? {});

/** The fields of an object, or of the objects of a list. */
export function propertiesOf(schema: Schema | undefined): Record<string, Schema> {
  const { properties, items } = resolved(schema);
  return properties ?? (items ? propertiesOf(items) : {});
}

export const typesOf = (schema: Schema): string[] => [resolved(schema).type ?? []].flat();

/** What can be imported: the schema that create takes, and the one that answers show. */
export const IMPORTED = {
  customers: { written: schemaOf('CustomerCreate'), shown: schemaOf('Customer') },
  products: { written: schemaOf('CatalogProductCreate'), shown: schemaOf('CatalogProduct') },
};

export type Importable = keyof typeof IMPORTED;
