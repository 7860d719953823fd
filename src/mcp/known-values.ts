import type { FastifyInstance } from 'fastify';
import type { OrganizationScope } from '../db/index.ts';
import { onPage } from '../http/pages.ts';
import { KNOWN_VALUES, type KnownValue } from './known-values.repository.ts';
import type { Tool } from './tools.ts';

const wordsOf = ({ value, name }: KnownValue): string => (name === undefined ? value : `${value} (${name})`);

/** Percent-encoded, for a header. */
const encoded = (known: KnownValue): string =>
  encodeURIComponent(wordsOf(known).slice(0, 100).toWellFormed());

/**
 * On an empty page with an unknown filter value, `X-Known-Values` lists the known ones: `salesStage=new,
 * qualified, won`. Registered before the routes.
 */
export function showKnownValues(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    const known = KNOWN_VALUES[String(route.schema?.operationId)];
    if (!known) return;
    onPage(route, async ({ query, scope }, reply, total) => {
      const asked = query as Record<string, string | undefined>;
      const hints: string[] = [];
      for (const [filter, read] of total === 0 ? Object.entries(known) : []) {
        const values = asked[filter] === undefined ? [] : await read(scope);
        if (values.length > 0 && values.every(({ value }) => value !== asked[filter]))
          hints.push(`${filter}=${values.map(encoded).join(', ')}`);
      }
      if (hints.length > 0) reply.header('x-known-values', hints.join('; '));
    });
  });
}

/** Adds the organization's values to the descriptions of the arguments. */
export async function withKnownValues(tool: Tool, scope: OrganizationScope): Promise<Tool> {
  const { properties } = tool.inputSchema;
  const described = await Promise.all(
    Object.entries(KNOWN_VALUES[tool.name] ?? {}).map(async ([name, read]) => {
      const words = (await read(scope)).map(wordsOf);
      const values = words.length > 0 ? ` In use: ${words.join(', ')}.` : '';
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
export function knownValuesSaid(header: string): string {
  const filters = header.split('; ').map((filter) => {
    const [name = '', values = ''] = filter.split('=', 2);
    return `${name}: ${values.split(', ').map(decodeURIComponent).join(', ')}`;
  });
  return `Nothing was found. Values in use: ${filters.join('; ')}.`;
}
