import { createConfig, lintFromString } from '@redocly/openapi-core';
import spectral, { type RulesetDefinition } from '@stoplight/spectral-core';
import rulesets from '@stoplight/spectral-rulesets';

/** The faults that Spectral (`spectral:oas`) and Redocly (`recommended-strict`) find. */
export async function lintFaults(text: string): Promise<string[]> {
  const linter = new spectral.Spectral();
  linter.setRuleset({ extends: [rulesets.oas as RulesetDefinition] });
  const config = await createConfig({ extends: ['recommended-strict'] });
  const found = await linter.run(text);
  const problems = await lintFromString({ source: text, absoluteRef: 'openapi.json', config });
  return [
    ...found.map(({ code, path, message }) => `${code} at ${path.join('/')}: ${message}`),
    ...problems.map(({ ruleId, location, message }) => `${ruleId} at ${location[0]?.pointer}: ${message}`),
  ];
}
