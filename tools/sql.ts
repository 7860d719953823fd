import { join } from 'node:path';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { readConfig } from '../src/config.ts';
import { allStatements, embeddedUrl, parametersOf } from '../src/db/index.ts';
// They compose every statement of the service.
import '../src/app.ts';
import '../src/dashboard-app.ts';
import '../src/jobs/schedule.ts';

/**
 * npm run sql -- customers.list: prints the statement with this name, formatted, with the names of its values. Without a name, it
 * lists all names. With --explain, it adds the plan, from the database of the environment or of the running service.
 */

type Composed = ReturnType<typeof allStatements>[number];

/** What is deployed has no development dependency: there, a statement is one line. */
const { format } = await import('sql-formatter').catch(() => ({ format: (text: string) => text }));

function readable(statement: Composed): string {
  const parameters = parametersOf(statement);
  // Names need no quotes. Text constants stay as they are.
  const text = statement.text.replaceAll(
    /('(?:[^']|'')*')|"([a-z_]+[a-z0-9_]*)"/g,
    (_, constant, name) => constant ?? name,
  );
  const style = { language: 'postgresql', keywordCase: 'lower', expressionWidth: 100 } as const;
  return `${format(text, style)};`.replaceAll(/\$(\d+)/g, (_, number) => `$${parameters[number - 1]}`);
}

/** Not `explain (generic_plan)`, which PostgreSQL 15 does not have. */
async function planOf(statement: Composed): Promise<string> {
  const { DATABASE_DIRECT_URL, DATABASE_URL, DATA_DIR } = readConfig();
  const connectionString = DATABASE_DIRECT_URL ?? DATABASE_URL ?? embeddedUrl(join(DATA_DIR, 'postgres'));
  const client = new pg.Client({ connectionString });
  await client.connect();
  const values = parametersOf(statement).map(() => 'null');
  await client.query(`set plan_cache_mode = force_generic_plan; prepare explained as ${statement.text}`);
  const { rows } = await client.query<Record<string, string>>(
    `explain execute explained${values.length > 0 ? `(${values})` : ''}`,
  );
  await client.end();
  return rows.map((row) => row['QUERY PLAN']).join('\n');
}

const options = { explain: { type: 'boolean', default: false } } as const;
const { values, positionals } = parseArgs({ allowPositionals: true, options });
const name = positionals.join(' ');
const statement = allStatements().find((each) => each.name === name);
if (statement) {
  console.log(readable(statement));
  if (values.explain) console.log(`\n${await planOf(statement)}`);
} else {
  if (name !== '') console.error(`There is no statement ${name}. The names are:`);
  const names = allStatements().map((each) => each.name);
  console.log(names.sort().join('\n'));
  process.exitCode = name === '' ? 0 : 1;
}
