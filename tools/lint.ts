import { createConfig, lintFromString } from '@redocly/openapi-core';

/** The faults that Redocly (`recommended-strict`) finds. */
export async function lintFaults(text: string): Promise<string[]> {
  const config = await createConfig({ extends: ['recommended-strict'] });
  const problems = await lintFromString({ source: text, absoluteRef: 'openapi.json', config });
  return problems.map(({ ruleId, location, message }) => `${ruleId} at ${location[0]?.pointer}: ${message}`);
}
