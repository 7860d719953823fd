import { readFileSync } from 'node:fs';

/** The OpenAPI document of the service: which lists there are, and which fields they have and take. */

/** What this program reads of JSON Schema; `rules.ts` checks by all of it. */
export type Schema = {
  $ref?: string;
  type?: string | string[];
  enum?: unknown[];
  items?: Schema;
  properties?: Record<string, Schema>;
};

type Parameter = { name: string; in: string };
type Operation = {
  parameters?: (Parameter | { $ref: string })[];
  responses: Record<string, { content?: Record<string, { schema?: Schema }> }>;
};

const {
  paths,
  components: { schemas, parameters },
} = JSON.parse(readFileSync(new URL('../../openapi/openapi.json', import.meta.url), 'utf8')) as {
  paths: Record<string, { get?: Operation }>;
  components: { schemas: Record<string, Schema>; parameters: Record<string, Parameter> };
};

export { schemas };

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

function queryOf({ parameters: declared = [] }: Operation): string[] {
  const found = declared.map((one) =>
    '$ref' in one ? parameters[one.$ref.replace('#/components/parameters/', '')] : one,
  );
  return found.flatMap((one) => (one?.in === 'query' ? [one.name] : []));
}

/** Every list with pages, by the last word of its path: the client has the same names. */
export const LISTS: Record<string, { fields: string[]; filters: string[] }> = Object.fromEntries(
  Object.entries(paths).flatMap(([path, { get }]) => {
    const query = get ? queryOf(get) : [];
    if (!query.includes('offset')) return [];
    const page = get?.responses[200]?.content?.['application/json']?.schema;
    const fields = Object.keys(propertiesOf(propertiesOf(page).data));
    const filters = query.filter((name) => name !== 'limit' && name !== 'offset');
    return [[path.slice(path.lastIndexOf('/') + 1), { fields, filters }]];
  }),
);

/** What can be imported: the schemas of a create, of an update and of a response. */
export const IMPORTED = {
  customers: { created: 'CustomerCreate', updated: 'CustomerUpdate', shown: 'Customer' },
  products: { created: 'CatalogProductCreate', updated: 'CatalogProductUpdate', shown: 'CatalogProduct' },
} as const;

export type Importable = keyof typeof IMPORTED;
