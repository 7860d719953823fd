import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { MISTAKES } from './mistakes.ts';

/** `npm run test:mutants` checks that the test that a mistake names detects it. */

test.each(MISTAKES)('$name can be made, and names a test', ({ test: named, changes }) => {
  expect([named, existsSync(named)]).toEqual([expect.stringMatching(/^test\/.*\.test\.ts$/), true]);
  for (const { path, text, mistake } of changes) {
    expect(mistake).not.toBe(text);
    expect(readFileSync(path, 'utf8').split(text), path).toHaveLength(2);
  }
});
