import { readFileSync } from 'node:fs';
import { breakingChanges } from './breaking-changes.ts';
import { lintFaults } from './lint.ts';

/** Fails when a linter finds fault with a committed document, or a change would break a client of the last release. */
const read = (name: string): string => readFileSync(new URL(`../openapi/${name}`, import.meta.url), 'utf8');

const faults: string[] = [];
for (const name of ['openapi.json', 'dashboard.json'])
  faults.push(...(await lintFaults(read(name))).map((fault) => `${name}: ${fault}`));
const changes = breakingChanges(JSON.parse(read('released.json')), JSON.parse(read('openapi.json')));
faults.push(...changes.map((change) => `openapi.json would break clients of the last release: ${change}`));
for (const fault of faults) console.log(fault);
process.exitCode = faults.length > 0 ? 1 : 0;
