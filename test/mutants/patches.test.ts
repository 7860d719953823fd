import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

/** `npm run test:mutants` checks that the test in the second line of each patch detects its mistake. */

const patches = readdirSync(import.meta.dirname).filter((file) => file.endsWith('.patch'));

test.each(patches)(
  '%s states its mistake in one sentence, names a test, and applies to the source',
  (file) => {
    const path = join(import.meta.dirname, file);
    const [, named = ''] = /^[^\n]+\.\n(test\/\S+\.ts)\n--- a\//.exec(readFileSync(path, 'utf8')) ?? [];
    expect(existsSync(named)).toBe(true);
    execFileSync('git', ['apply', '--check', path], { stdio: 'pipe' });
  },
);
