import { readdirSync, readFileSync } from 'node:fs';
import type { FastifyInstance } from 'fastify';
import { buildApp } from '../src/app.ts';
import { Environment } from '../src/config.ts';
import { buildDashboardApp } from '../src/dashboard-app.ts';
import * as schema from '../src/db/tables/index.ts';
import { createLogger } from '../src/http/logging.ts';
import type { Publisher } from '../src/reference/publish.ts';
import { clientOperations, clientTypes, type DocumentedApi } from './client-types.ts';
import { jsonText } from './json-text.ts';
import { tablesDiagram, tablesTable } from './tables-diagram.ts';

/** A file of the repository that is made, wholly or in part, from the code. */
export type GeneratedDocument = {
  path: string;
  /** What the file should hold, given what it holds now. */
  render: (present: string) => string;
};

/** Takes the place of what an application needs to run, but not to describe itself. */
const unused = (name: string): never =>
  new Proxy(
    {},
    {
      get: () => {
        throw new Error(`${name} is not there while documents are made.`);
      },
    },
  ) as never;

/** The public application. It can describe itself, and do nothing else. */
export const describedApp = (publisher: Publisher = {}) =>
  buildApp({
    db: unused('db'),
    keys: unused('keys'),
    rateLimit: { limiter: unused('limiter'), requestsPerMinute: 0 },
    links: unused('links'),
    logger: createLogger('silent'),
    publisher,
  });

/** The dashboard application in the same way. */
const describedDashboardApp = () =>
  buildDashboardApp({
    db: unused('db'),
    token: 'unused',
    storage: unused('storage'),
    links: unused('links'),
    logger: createLogger('silent'),
  });

/** A generated part of a Markdown file. Each marker stands on its own line. */
const PART = /^<!-- ([\w-]+): made by npm run docs -->$[\s\S]*?^<!-- end of \1 -->$/gm;
const PART_START = /^<!-- [\w-]+: made by npm run docs -->$/gm;

const ROOT = new URL('../', import.meta.url);

/** README.md and everything below docs/. */
const markdownFiles = (): string[] => [
  'README.md',
  ...readdirSync(new URL('docs/', ROOT), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.md'))
    .map((path) => `docs/${path}`)
    .sort(),
];

const partsIn = (text: string): string[] => [...text.matchAll(PART)].map(([, name]) => String(name));

/** Puts each part's content between its markers, wherever they stand. */
const renderParts = (text: string, contents: Record<string, string>): string =>
  text.replace(PART, (_part, name: string) =>
    [`<!-- ${name}: made by npm run docs -->`, contents[name], `<!-- end of ${name} -->`].join('\n\n'),
  );

/**
 * The Markdown files that have generated parts.
 * @throws when a marker has no end, names no part, or a part stands in no file
 */
function markdownDocuments(contents: Record<string, string>): GeneratedDocument[] {
  const files = markdownFiles().map((path) => ({ path, text: readFileSync(new URL(path, ROOT), 'utf8') }));
  for (const { path, text } of files) {
    const parts = partsIn(text);
    if (parts.length !== (text.match(PART_START) ?? []).length)
      throw new Error(`${path} has a generated part without an end.`);
    const unknown = parts.find((name) => !(name in contents));
    if (unknown !== undefined) throw new Error(`${path} has a part "${unknown}" that nothing makes.`);
  }
  const written = files.filter(({ text }) => partsIn(text).length > 0);
  const placed = new Set(written.flatMap(({ text }) => partsIn(text)));
  const missing = Object.keys(contents).find((name) => !placed.has(name));
  if (missing !== undefined) throw new Error(`No Markdown file has the part "${missing}".`);
  return written.map(({ path }) => ({ path, render: (present) => renderParts(present, contents) }));
}

function configurationTable(): string {
  const rows = Object.entries(Environment.shape).map(([name, schema]) => {
    const preset = schema.safeParse(undefined).data;
    return `| \`${name}\` | ${preset === undefined ? '' : `\`${preset}\``} | ${schema.description ?? ''} |`;
  });
  return ['| variable | default | meaning |', '|---|---|---|', ...rows].join('\n');
}

function operationsTable(paths: DocumentedApi['paths']): string {
  const rows = Object.entries(paths).map(([path, operations]) => {
    const named = Object.entries(operations).map(
      ([method, { operationId }]) => `${method.toUpperCase()} ${operationId}`,
    );
    return `| \`${path}\` | ${named.join(', ')} |`;
  });
  return ['| path | operations |', '|---|---|', ...rows].join('\n');
}

/** A section for each record of /v1 that may not be there, but those that the guide has more to say of. */
function notFoundSections({ components }: DocumentedApi): string {
  const guide = readFileSync(new URL('docs/guide/errors.md', ROOT), 'utf8').replace(PART, '');
  const codes = components.schemas.ErrorResponse?.properties?.error?.properties?.code?.examples ?? [];
  const sections = codes.flatMap((code) => {
    const resource = Object.values(schema).find((one) => 'notFound' in one && one.notFound.code === code);
    if (!resource || !('notFound' in resource) || guide.includes(`### ${code}\n`)) return [];
    const archived = 'archivedAt' in resource.table ? ', or it is archived' : '';
    return `### ${code}\n\nStatus 404. There is no ${resource.notFound.noun} with this id in your organization${archived}.`;
  });
  return sections.join('\n\n');
}

/** The document that an application serves. */
async function documentOf(app: FastifyInstance): Promise<DocumentedApi> {
  const { body } = await app.inject('/openapi.json');
  await app.close();
  return JSON.parse(body);
}

export async function generatedDocuments(): Promise<GeneratedDocument[]> {
  const document = await documentOf(await describedApp());
  const dashboard = await documentOf(await describedDashboardApp());
  return [
    { path: 'openapi/openapi.json', render: () => `${jsonText(document)}\n` },
    { path: 'openapi/dashboard.json', render: () => `${jsonText(dashboard)}\n` },
    { path: 'client/src/types.ts', render: () => clientTypes(document) },
    { path: 'client/src/operations.ts', render: () => clientOperations(document) },
    ...markdownDocuments({
      operations: operationsTable(document.paths),
      configuration: configurationTable(),
      tables: tablesTable(),
      picture: tablesDiagram(),
      'not-found': notFoundSections(document),
    }),
  ];
}
