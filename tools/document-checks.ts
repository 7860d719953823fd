import { createConfig, lintFromString } from '@redocly/openapi-core';
import spectral, { type RulesetDefinition } from '@stoplight/spectral-core';
import rulesets from '@stoplight/spectral-rulesets';
import { apiCompare, type Diff } from 'api-smart-diff';

/** What is wrong with an OpenAPI document, by itself and beside the one that clients were made from. */

/** The faults that Spectral (`spectral:oas`) and Redocly (`recommended-strict`) find. */
export async function lintFaults(text: string): Promise<string[]> {
  const linter = new spectral.Spectral();
  linter.setRuleset({ extends: [rulesets.oas as RulesetDefinition] });
  const config = await createConfig({
    extends: ['recommended-strict'],
    rules: {
      // A status narrows `code` of ApiError by `allOf`. The tests hold every example to its schema.
      'no-invalid-media-type-examples': { severity: 'error', allowAdditionalProperties: true },
    },
  });
  const found = await linter.run(text);
  const problems = await lintFromString({ source: text, absoluteRef: 'openapi.json', config });
  return [
    ...found.map(({ code, path, message }) => `${code} at ${path.join('/')}: ${message}`),
    ...problems.map(({ ruleId, location, message }) => `${ruleId} at ${location[0]?.pointer}: ${message}`),
  ];
}

const typesOf = (type: unknown): unknown[] => (Array.isArray(type) ? type : [type]);

/** What clients of this service are told to expect: new error codes. And what is only said in another place: defaults. */
const isAnnounced = ({ path, action }: Diff): boolean =>
  (path.join('/').includes('properties/error/properties/code/enum') && action === 'add') ||
  (path.includes('requestBody') && path.at(-1) === 'default');

/** What the library takes for harmless, and a generated or a strict client does not. */
function breaksAnyway({ path, action, before, after }: Diff): boolean {
  const last = path.at(-1);
  if (last === 'operationId') return true;
  if (path[0] === 'security') return action === 'remove';
  if (path.includes('responses') && last === 'type')
    return typesOf(after).some((type) => !typesOf(before).includes(type));
  return path.includes('requestBody') && path.at(-2) === 'properties' && action === 'remove';
}

/** Each change from one document to the next that would break a client made from the first. */
export function breakingChanges(before: object, after: object): string[] {
  return apiCompare(before, after)
    .diffs.filter((diff) => ['paths', 'security'].includes(String(diff.path[0])))
    .filter((diff) => !isAnnounced(diff) && (diff.type === 'breaking' || breaksAnyway(diff)))
    .map(({ action, path }) => `${action} ${path.join('/')}`);
}
