import { readFileSync } from 'node:fs';
import { breakingChanges } from './breaking-changes.ts';
import { lintErrors } from './lint.ts';

/** Fails if a committed document has a lint error, or a change would break a client of the last release. */
const read = (name: string): string => readFileSync(new URL(`../openapi/${name}`, import.meta.url), 'utf8');

const errors: string[] = [];
for (const name of ['openapi.json', 'dashboard.json'])
  errors.push(...(await lintErrors(read(name))).map((error) => `${name}: ${error}`));
const changes = breakingChanges(JSON.parse(read('released.json')), JSON.parse(read('openapi.json')));
errors.push(...changes.map((change) => `openapi.json would break clients of the last release: ${change}`));
for (const error of errors) console.log(error);
process.exitCode = errors.length > 0 ? 1 : 0;
