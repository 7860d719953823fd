import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, inject, onTestFinished, test } from 'vitest';
import { createTestDatabase } from '../support/databases.ts';
import { PROGRAM, runProgram } from '../support/process.ts';

const sql = (...args: string[]) => runProgram('tools/sql.ts', args, { DATABASE_URL: inject('serverUrl') });

test('npm run sql prints a statement with the names of its values; without a known name, those of all statements', async () => {
  const { code, stdout } = await sql('customers.list tag');
  expect([code, stdout]).toEqual([0, expect.stringMatching(/^select\n/)]);
  expect(stdout).toContain('searchable_customers.tags @> array[$tag]::text[]');
  expect(await sql('customers.git')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('There is no statement customers.git.'),
    stdout: expect.stringMatching(/^customers\.get$[\s\S]*^products\.create$[\s\S]*^quotes\.put$/m),
  });
});

const WITHOUT_FORMATTER = `import { registerHooks } from 'node:module';
registerHooks({ resolve(name, context, next) {
  if (name === 'sql-formatter') throw new Error('not installed');
  return next(name, context);
} });`;

test('npm run sql explains a statement, also where no development dependency is installed', async () => {
  const database = await createTestDatabase(inject('serverUrl'));
  onTestFinished(database.drop);
  const first = ['./src/runtime.js', `data:text/javascript,${encodeURIComponent(WITHOUT_FORMATTER)}`];
  const args = [...first.map((path) => `--import=${path}`), 'tools/sql.ts', 'customers.get', '--explain'];
  const env = { ...PROGRAM, DATABASE_URL: database.url };
  const { stdout } = await promisify(execFile)(process.execPath, args, { env });
  expect(stdout).toMatch(/^select .*\$organizationId and .*;\n\n.* Scan /);
});
