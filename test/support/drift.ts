import { readFileSync } from 'node:fs';
import type { Service } from './service.ts';

/** The query with which operators compare derived data with the records. */
export const COMPARE = readFileSync(new URL('../../deploy/compare.sql', import.meta.url), 'utf8');

type Drift = {
  organization_id: string;
  kept_in: string;
  what: string;
  value: string | null;
  missing: string | null;
};

/** Everything of the agencies that the query finds. */
export const findAllDrift = async (
  { query }: Pick<Service, 'query'>,
  ...agencies: readonly { id: string }[]
): Promise<Drift[]> => {
  const found = await query<Drift>(COMPARE, [], 'drift');
  return found.filter(({ organization_id }) => agencies.some(({ id }) => id === organization_id));
};

/** Without links, which many tests send otherwise. */
export const findDrift = async (...args: Parameters<typeof findAllDrift>): Promise<Drift[]> =>
  (await findAllDrift(...args)).filter(({ kept_in }) => !kept_in.startsWith('linked_'));
