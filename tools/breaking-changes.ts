import { apiCompare, type Diff } from 'api-smart-diff';

const typesOf = (type: unknown): unknown[] => (Array.isArray(type) ? type : [type]);

/** Changes that the library accepts, but that break a generated or strict client. */
function breaksAnyway({ path, action, before, after }: Diff): boolean {
  const last = path.at(-1);
  if (last === 'operationId') return true;
  if (path[0] === 'security') return action === 'remove';
  if (path.includes('responses') && last === 'type')
    return typesOf(after).some((type) => !typesOf(before).includes(type));
  return path.includes('requestBody') && path.at(-2) === 'properties' && action === 'remove';
}

type Value = Record<string, unknown>;

const isObject = (value: unknown): value is Value =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The first schema, narrowed by the second. */
const narrowed = (wide: Value, narrow: Value): Value => ({
  ...wide,
  ...Object.fromEntries(
    Object.entries(narrow).map(([key, value]) => {
      const of = wide[key];
      if (key === 'required')
        return [key, [...new Set([...((of ?? []) as string[]), ...(value as string[])])]];
      return [key, isObject(of) && isObject(value) ? narrowed(of, value) : value];
    }),
  ),
});

/** The paths and the security of a document, with references resolved (names of schemas do not matter) and `allOf` merged. */
function plain({ paths, security, components }: Value): Value {
  const visit = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(visit);
    if (!isObject(value)) return value;
    if (typeof value.$ref === 'string') {
      const [, kind = '', name = ''] = /^#\/components\/(\w+)\/(.+)$/.exec(value.$ref) ?? [];
      return visit((components as Record<string, Value>)[kind]?.[name]);
    }
    const { allOf, ...rest } = Object.fromEntries(
      Object.entries(value).map(([key, inner]) => [key, visit(inner)]),
    );
    return Array.isArray(allOf) ? allOf.reduce(narrowed, rest) : rest;
  };
  return { openapi: '3.1.0', paths: visit(paths), security };
}

/** Each change that would break a client of the first document. */
export function breakingChanges(before: object, after: object): string[] {
  return apiCompare(plain(before as Value), plain(after as Value))
    .diffs.filter((diff) => ['paths', 'security'].includes(String(diff.path[0])))
    .filter((diff) => diff.type === 'breaking' || breaksAnyway(diff))
    .map(({ action, path }) => `${action} ${path.join('/')}`);
}

/** A field of a record can have the name of a keyword, but its schema is an object. */
const isWord = (key: string, value: unknown): boolean =>
  /^examples?$/.test(key) || (/^(description|summary|tags)$/.test(key) && !isObject(value));

/** JSON with one line for each entry, however long: for programs, and for people who read the diff. */
function linePerEntry(named: object): string {
  const lines = Object.entries(named).map(
    ([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`,
  );
  return `{\n${lines.join(',\n')}\n}`;
}

/** The document without descriptions and examples: one line for each path and each component. */
export function promisesOf({ openapi, info, security, paths, components }: Value): string {
  const bare = (value: unknown): object =>
    JSON.parse(JSON.stringify(value, (key, inner) => (isWord(key, inner) ? undefined : inner)));
  const { version } = info as Value;
  const kinds = Object.entries(components as Record<string, object>).map(
    ([kind, named]) => `${JSON.stringify(kind)}: ${linePerEntry(bare(named))}`,
  );
  return [
    `{\n"openapi": ${JSON.stringify(openapi)},\n"info": ${JSON.stringify({ version })},`,
    `"security": ${JSON.stringify(security)},`,
    `"paths": ${linePerEntry(bare(paths))},`,
    `"components": {\n${kinds.join(',\n')}\n}}\n`,
  ].join('\n');
}
