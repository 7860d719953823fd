import { readFileSync } from 'node:fs';
import { lintErrors } from './lint.ts';

/** Fails if a committed document has a lint error. */
for (const name of ['openapi.json', 'dashboard.json']) {
  const document = readFileSync(new URL(`../openapi/${name}`, import.meta.url), 'utf8');
  for (const error of await lintErrors(document)) {
    console.log(`${name}: ${error}`);
    process.exitCode = 1;
  }
}
