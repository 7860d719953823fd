import { distance } from 'fastest-levenshtein';
import type { FastifyInstance } from 'fastify';
import type { OrganizationScope } from '../db/index.ts';
import { onPage } from '../http/pages.ts';
import { KNOWN_VALUES, type KnownValue } from './repository.ts';

const wordsOf = ({ value, name }: KnownValue): string => (name === undefined ? value : `${value} (${name})`);

const MOST = 20;
const MAX_BYTES = 2_000;
const OTHERS = encodeURIComponent('…');

/** Text that differs in case or accents is the same. */
const folded = (text: string): string =>
  text.slice(0, 100).normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();

function nearestTo(sent: string, known: readonly KnownValue[]): KnownValue[] {
  const distanceTo = ({ value, name = value }: KnownValue): number =>
    Math.min(...[value, name].map((text) => distance(folded(text), folded(sent))));
  const rated = known.map((one) => ({ one, far: distanceTo(one) }));
  return rated.sort((one, other) => one.far - other.far).map(({ one }) => one);
}

/** The values, percent-encoded; `…` stands for those that have no space. */
function listed(known: readonly KnownValue[]): string {
  const words: string[] = [];
  let bytes = OTHERS.length;
  for (const word of known.map((one) => encodeURIComponent(wordsOf(one).toWellFormed()))) {
    if (words.length === MOST) break;
    if (bytes + word.length + 2 > MAX_BYTES) continue;
    words.push(word);
    bytes += word.length + 2;
  }
  return [...words, ...(words.length < known.length ? [OTHERS] : [])].join(', ');
}

/**
 * On an empty page with a filter value that no record has, `X-Known-Values` lists the nearest ones: `salesStage=new,
 * qualified, won`. Registered before the routes.
 */
export function showKnownValues(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    const known = KNOWN_VALUES[String(route.schema?.operationId)];
    if (!known) return;
    onPage(route, async ({ query, scope }, reply, total) => {
      const sent = query as Record<string, string | undefined>;
      const hints: string[] = [];
      for (const [filter, { read, has }] of total === 0 ? Object.entries(known) : []) {
        const value = sent[filter];
        if (value === undefined || (await has(scope, value))) continue;
        const values = nearestTo(value, await read(scope));
        if (values.length > 0) hints.push(`${filter}=${listed(values)}`);
      }
      if (hints.length > 0) reply.header('x-known-values', hints.join('; '));
    });
  });
}

type Described = {
  name: string;
  inputSchema: { properties: Record<string, { description?: string | undefined }> };
};

/** Adds the organization's values to the descriptions of a tool's arguments. */
export async function withKnownValues<Tool extends Described>(
  tool: Tool,
  scope: OrganizationScope,
): Promise<Tool> {
  const { properties } = tool.inputSchema;
  const described = await Promise.all(
    Object.entries(KNOWN_VALUES[tool.name] ?? {}).map(async ([name, { read }]) => {
      const known = await read(scope);
      const words = known.slice(0, MOST).map((one) => wordsOf(one).slice(0, 100).toWellFormed());
      const others = known.length > MOST ? ' and others' : '';
      const values = words.length > 0 ? ` In use: ${words.join(', ')}${others}.` : '';
      return [
        name,
        { ...properties[name], description: `${properties[name]?.description}${values}` },
      ] as const;
    }),
  );
  const inputSchema = {
    ...tool.inputSchema,
    properties: { ...properties, ...Object.fromEntries(described) },
  };
  return { ...tool, inputSchema };
}

/** The header `X-Known-Values` in a sentence. */
export function describeKnownValues(header: string): string {
  const filters = header.split('; ').map((filter) => {
    const [name = '', values = ''] = filter.split('=', 2);
    return `${name}: ${values.split(', ').map(decodeURIComponent).join(', ')}`;
  });
  return `Nothing was found. Values in use: ${filters.join('; ')}.`;
}
