import { readFileSync } from 'node:fs';
import { newId } from '../../src/db/index.ts';
import type { Service } from './service.ts';

/** The query with which operators compare derived data with the records. */
export const COMPARE = readFileSync(new URL('../../deploy/compare.sql', import.meta.url), 'utf8');
/** The statement in its comments that repairs a count. */
const [REPAIR = ''] = /insert into live_counts.*\n-- .*/.exec(COMPARE) ?? [];

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

/** Repairs a count. */
export const mendCount = ({ query }: Pick<Service, 'query'>, drift: Drift): Promise<unknown> =>
  query(
    REPAIR.replace('\n--', '\n')
      .replace('ORGANIZATION', drift.organization_id)
      .replace('WHAT', drift.what)
      .replace('VALUE', String(drift.value))
      .replace('MISSING', String(drift.missing)),
  );

/** For SQL: a column that hides a record of the table from lists, and a new value that does so. */
export const hidden = (table: string): { by: string; as: string } =>
  table === 'conversations' ? { by: 'continued_by', as: `'${newId()}'` } : { by: 'archived_at', as: 'now()' };

/**
 * Copies the record `$3` of the organization `$1` to the new id `$2`. The copy has no contacts, because only the service knows their
 * keys.
 */
export const copyRecord = (table: string): string =>
  `insert into ${table}
    select (jsonb_populate_record(t, jsonb_build_object('id', $2::text, 'token', $2::text, 'contacts', '[]'::json, 'contact_keys', '[]'::json))).*
    from ${table} t where organization_id = $1 and id = $3`;
