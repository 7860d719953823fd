import { sql } from 'drizzle-orm';
import type { Queries } from '../pool/scope.ts';
import { type Params, prepared } from '../sql/statement.ts';

const emptyStatement = prepared(
  'pending_lists.empty',
  (_: Params<Record<never, never>>) => sql`select empty_pending_lists()`,
);

/** Moves the pending entries of the trigram indexes into the indexes, unless another instance is doing so. */
export async function emptyPendingLists(db: Queries): Promise<void> {
  await db.write(emptyStatement, {});
}
