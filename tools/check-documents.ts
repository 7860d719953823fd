import { readFileSync } from 'node:fs';
import { createConfig, lintFromString } from '@redocly/openapi-core';

/** Fails if a committed document has an error or warning of Redocly (`recommended-strict`). */
const config = await createConfig({
  extends: ['recommended-strict'],
  // The address of a service without PUBLIC_URL.
  rules: { 'no-server-example.com': 'off' },
});
for (const name of ['openapi.json', 'dashboard.json']) {
  const source = readFileSync(new URL(`../openapi/${name}`, import.meta.url), 'utf8');
  const problems = await lintFromString({ source, absoluteRef: name, config });
  for (const { ruleId, location, message } of problems)
    console.log(`${name}: ${ruleId} at ${location[0]?.pointer}: ${message}`);
  if (problems.length > 0) process.exitCode = 1;
}
