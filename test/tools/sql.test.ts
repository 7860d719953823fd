import { expect, inject, test } from 'vitest';
import { runProgram } from '../support/process.ts';

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
