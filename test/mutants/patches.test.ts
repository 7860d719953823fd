import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

/** `npm run test:mutants` checks that the model, or the test in the second line of the patch, detects each mistake. */

const patches = readdirSync(import.meta.dirname).filter((file) => file.endsWith('.patch'));

test.each(patches)('%s states its mistake in one sentence, and applies to the source', (file) => {
  const path = join(import.meta.dirname, file);
  expect(readFileSync(path, 'utf8')).toMatch(/^[^\n]+\.\n(test\/\S+\n)?--- a\//);
  execFileSync('git', ['apply', '--check', path], { stdio: 'pipe' });
});
