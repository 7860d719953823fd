import { createConfig, lintFromString } from '@redocly/openapi-core';

/** The errors and warnings of Redocly (`recommended-strict`). */
export async function lintErrors(text: string): Promise<string[]> {
  const config = await createConfig({
    extends: ['recommended-strict'],
    // The address of a service without PUBLIC_URL.
    rules: { 'no-server-example.com': 'off' },
  });
  const problems = await lintFromString({ source: text, absoluteRef: 'openapi.json', config });
  return problems.map(({ ruleId, location, message }) => `${ruleId} at ${location[0]?.pointer}: ${message}`);
}
