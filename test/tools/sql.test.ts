import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, inject, test } from 'vitest';

const sql = (...args: string[]) =>
  promisify(execFile)(process.execPath, ['--import', './src/runtime.js', 'tools/sql.ts', ...args], {
    env: { ...process.env, DATABASE_URL: inject('serverUrl') },
  });

test('npm run sql prints a statement with the names of its values', async () => {
  const { stdout } = await sql('customers.list tag');
  expect(stdout).toMatch(/^select\n/);
  expect(stdout).toContain('searchable_customers.tags @> array[$tag]::text[]');
});

test('npm run sql rejects an unknown name, and prints the names of all statements', async () => {
  await expect(sql('customers.git')).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringContaining('There is no statement customers.git.'),
    stdout: expect.stringMatching(/^customers\.get$[\s\S]*^products\.create$[\s\S]*^quotes\.put$/m),
  });
});
