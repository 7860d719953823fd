import { readFileSync } from 'node:fs';
import { newId } from '../../src/db/sql/ids.ts';
import type { Service } from './service.ts';

/** What operators run to compare. */

/** The query that compares. */
const COMPARE = readFileSync('deploy/compare.sql', 'utf8');
/** The statement of its comment that adds what a count lacks. */
const [ADD = ''] = /insert into live_counts.*\n-- .*/.exec(COMPARE) ?? [];

type Drift = {
  organization_id: string;
  kept_in: string;
  what: string;
  value: string | null;
  missing: string | null;
};

/** Every count, search row and contact key of the agencies that does not follow from their records, as one moment has them. */
export const findDrift = async (
  { query }: Pick<Service, 'query'>,
  ...agencies: readonly { id: string }[]
): Promise<Drift[]> => {
  const found = await query<Drift>(COMPARE);
  return found.filter(({ organization_id }) => agencies.some(({ id }) => id === organization_id));
};

/** Adds what the count lacks. */
export const mendCount = ({ query }: Pick<Service, 'query'>, drift: Drift): Promise<unknown> =>
  query(
    ADD.replace('\n--', '\n')
      .replace('ORGANIZATION', drift.organization_id)
      .replace('WHAT', drift.what)
      .replace('VALUE', String(drift.value))
      .replace('MISSING', String(drift.missing)),
  );

/** For SQL: the column that takes a record of the table out of lists, and a value that does, another one each time. */
export const hidden = (table: string): { by: string; as: string } =>
  table === 'conversations' ? { by: 'continued_by', as: `'${newId()}'` } : { by: 'archived_at', as: 'now()' };

/**
 * Inserts a record with the id `$2` like the one of the organization `$1` with the id `$3`; without contacts, because only the
 * service knows their keys.
 */
export const copyRecord = (table: string): string =>
  `insert into ${table}
    select (jsonb_populate_record(t, jsonb_build_object('id', $2::text, 'token', $2::text, 'contacts', '[]'::json, 'contact_keys', '[]'::json))).*
    from ${table} t where organization_id = $1 and id = $3`;
