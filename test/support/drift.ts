import { documentAt } from './documents.ts';
import type { Service } from './service.ts';

/** What operators run to compare, as docs/operating.md has it. */

const [, chapter = ''] = /^## Comparing counts.*\n([\s\S]*)/m.exec(documentAt('docs/operating.md')) ?? [];

/** The query that compares, and the statement that adds what a count lacks. */
const [COMPARE = '', ADD = ''] = Array.from(
  chapter.matchAll(/^ *```sql\n([\s\S]*?)^ *```$/gm),
  ([, sql = '']) => sql,
);

type Drift = { organization_id: string; kept_in: string; what: string; missing: string | null };

/** Every count, search row and contact key that does not follow from the records, as one moment has them. */
export const findDrift = ({ query }: Pick<Service, 'query'>): Promise<Drift[]> => query<Drift>(COMPARE);

/** Adds what the count lacks. */
export const mendCount = ({ query }: Pick<Service, 'query'>, drift: Drift): Promise<unknown> =>
  query(
    ADD.replace('ORGANIZATION', drift.organization_id)
      .replace('WHAT', drift.what)
      .replace('MISSING', String(drift.missing)),
  );
