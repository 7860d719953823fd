import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

/** The seeded mistakes are for code that is there. `npm run test:mutants` sees whether the model, or the test that a patch names in its second line, finds them. */

const patches = readdirSync(import.meta.dirname).filter((file) => file.endsWith('.patch'));

test('there are mistakes of every kind', () => {
  expect(patches.length).toBeGreaterThanOrEqual(30);
});

test.each(patches)('%s says what it does wrong, and applies', (file) => {
  const path = join(import.meta.dirname, file);
  expect(readFileSync(path, 'utf8')).toMatch(/^[^\n]+\.\n(test\/\S+\n)?--- a\//);
  execFileSync('git', ['apply', '--check', path], { stdio: 'pipe' });
});
