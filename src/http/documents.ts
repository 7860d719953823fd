import { buildApp } from '../app.ts';
import { Environment } from '../config.ts';
import { buildDashboardApp } from '../dashboard/app.ts';
import { createLogger } from './logging.ts';
import { openApiText } from './openapi.ts';

/** A file of the repository that is made, wholly or in part, from the code. */
export type GeneratedDocument = {
  path: string;
  /** What the file should hold, given what it holds now. */
  render: (present: string) => string;
};

/** Stands in for what an application needs to run but not to describe itself. */
const unused = (name: string): never =>
  new Proxy(
    {},
    {
      get: () => {
        throw new Error(`${name} is not there while documents are made.`);
      },
    },
  ) as never;

/** The public application, able to describe itself and nothing more. */
export const describedApp = () =>
  buildApp({
    db: unused('db'),
    keys: unused('keys'),
    rateLimit: { limiter: unused('limiter'), requestsPerMinute: 0 },
    links: unused('links'),
    logger: createLogger('silent'),
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

/** Replaces what stands between the markers of a generated part of a Markdown file. */
function replacePart(text: string, part: string, content: string): string {
  const [start, end] = [`<!-- ${part}: made by npm run docs -->`, `<!-- end of ${part} -->`];
  const from = text.indexOf(start);
  const to = text.indexOf(end);
  if (from < 0 || to < 0) throw new Error(`README.md has no part "${part}".`);
  return `${text.slice(0, from + start.length)}\n\n${content}\n\n${text.slice(to)}`;
}

function configurationTable(): string {
  const rows = Object.entries(Environment.shape).map(([name, schema]) => {
    const preset = schema.safeParse(undefined).data;
    return `| \`${name}\` | ${preset === undefined ? '' : `\`${preset}\``} | ${schema.description ?? ''} |`;
  });
  return ['| variable | default | meaning |', '|---|---|---|', ...rows].join('\n');
}

type Paths = Record<string, Record<string, { operationId: string; summary: string }>>;

function operationsTable(paths: Paths): string {
  const rows = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(
      ([method, { operationId, summary }]) =>
        `| ${method.toUpperCase()} | \`${path}\` | ${operationId} | ${summary} |`,
    ),
  );
  return ['| method | path | operation | purpose |', '|---|---|---|---|', ...rows].join('\n');
}

export async function generatedDocuments(): Promise<GeneratedDocument[]> {
  const app = await describedApp();
  const text = openApiText(app);
  const { paths } = JSON.parse(text) as { paths: Paths };
  await app.close();
  const dashboard = await describedDashboardApp();
  const dashboardText = openApiText(dashboard);
  await dashboard.close();
  return [
    { path: 'openapi/openapi.json', render: () => text },
    { path: 'openapi/dashboard.json', render: () => dashboardText },
    {
      path: 'README.md',
      render: (present) =>
        replacePart(
          replacePart(present, 'operations', operationsTable(paths)),
          'configuration',
          configurationTable(),
        ),
    },
  ];
}
