import { type Placeholder, type SQL, sql } from 'drizzle-orm';
import { customers, ofOrganization } from '../db/index.ts';

/** A merged customer stands for the one that it was merged into. */
const survivorOf = (
  id: Placeholder | SQL,
): SQL => sql`coalesce((select ${customers.mergedInto} from ${customers}
  where ${ofOrganization(customers)} and ${customers.id} = ${id}), ${id}::uuid)`;

/** For `byId`. */
export const survivor = {
  one: survivorOf,
  several: (ids: Placeholder): SQL =>
    sql`any(array(select ${survivorOf(sql`sent.id`)} from unnest(${ids}::uuid[]) as sent(id)))`,
};
