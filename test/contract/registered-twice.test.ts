import { describe } from 'vitest';
import { PUBLIC, resolved, type Schema } from '../support/contract.ts';
import { buildDashboard } from '../support/dashboard.ts';
import { callsOf, collectWith, type Reply, type Service } from '../support/service.ts';

/**
 * The tests of /v1 once more, against the same routes as the dashboard API has them: below an organization, with the token.
 * Each response is compared with the document of the dashboard API; the tests see the fields that /v1 has.
 */

const FILES = [
  'catalog',
  'customers',
  'opportunities',
  'conversations',
  'quotes',
  'team',
  'finding',
  'search',
  'contract/pagination',
  'contract/fields',
  'contract/caching',
];

/** Without the fields that only the dashboard API has. */
function ofSchema(schema: Schema, value: unknown): unknown {
  const { properties, items } = resolved(schema);
  if (Array.isArray(value)) return value.map((entry) => ofSchema((items ?? {}) as Schema, entry));
  if (!properties || typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => name in properties)
      .map(([name, inner]) => [name, ofSchema(properties[name] ?? {}, inner)]),
  );
}

const isPathOf = (template: string, path: string): boolean =>
  new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path);

function asInV1(method: string, url: string, { status, body, headers, ...reply }: Reply): Reply {
  const path = Object.keys(PUBLIC.paths).find((template) => isPathOf(template, url.replace(/\?.*/, '')));
  const schema =
    path &&
    PUBLIC.paths[path]?.[method.toLowerCase()]?.responses[status]?.content?.['application/json']?.schema;
  const link = headers.link?.replaceAll(/\/dashboard\/v1\/organizations\/[^/]+/g, '/v1');
  return {
    ...reply,
    status,
    headers: { ...headers, ...(link !== undefined && { link }) },
    body: status < 400 && schema ? ofSchema(schema, body) : body,
  };
}

async function overDashboard(service: Service): Promise<Service> {
  const dashboard = await buildDashboard(service);
  return {
    ...service,
    agency: async (name) => {
      const agency = await service.agency(name);
      const below = dashboard.of(agency);
      return {
        ...agency,
        ...callsOf<{ key?: string | null }>(async (method, url, options = {}) => {
          if (!url.startsWith('/v1/') || options.key !== undefined)
            return agency.request(method, url, options);
          const reply = await below.request(method, url.slice('/v1'.length), options);
          // Archived records are found by the dashboard only.
          return method === 'GET' && reply.body?.archivedAt
            ? agency.request(method, url, options)
            : asInV1(method, url, reply);
        }),
      };
    },
    close: async () => {
      await dashboard.app.close();
      await service.close();
    },
  };
}

describe('registered by the dashboard API', async () => {
  const urls = FILES.map((file) => new URL(`../${file}.test.ts?dashboard`, import.meta.url));
  await collectWith(overDashboard, urls);
});
