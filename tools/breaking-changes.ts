import { apiCompare, type Diff } from 'api-smart-diff';

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
