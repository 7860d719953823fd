import { productView } from '../catalog/repository.ts';
import { customerView } from '../customers/repository.ts';
import { type Batch, type Copies, defineCopies } from '../db/copies/copies.ts';
import { type OrganizationScope, scopeTo } from '../db/run/scope.ts';
import { allOrganizations } from '../organizations/repository.ts';
import type { JobContext } from './context.ts';

/** Read rows and search rows, which are kept beside the records. */

export type CopiesContext = JobContext & {
  /** Stale copies are of another release: rendered while reading, or not found by searches. Wrong ones differ from their record. */
  find?: 'stale' | 'wrong';
  /** Makes anew what it finds. */
  fix?: boolean;
};

export const productCopies = defineCopies(productView);
export const customerCopies = defineCopies(customerView);
const RESOURCES: readonly Copies[] = [productCopies, customerCopies];
const FIRST = '00000000-0000-0000-0000-000000000000';

/** Looks through the records of one kind, a batch at a time. */
async function sweepRecords(
  scope: OrganizationScope,
  copies: Copies,
  { find = 'stale', fix = true, batchSize = 500, signal }: CopiesContext,
): Promise<number> {
  let found = 0;
  let after: Batch['last'] = FIRST;
  while (after !== undefined && !signal?.aborted) {
    const batch: Batch = await copies[find](scope, after, batchSize);
    if (fix) await copies.refresh(scope, batch.found);
    found += batch.found.length;
    after = batch.last;
  }
  return found;
}

/**
 * Looks through the copies of all organizations, and logs how many records are found. An organization that
 * fails is logged, and the others go on.
 * @throws when organizations failed, after all others are done
 */
export async function keepCopies(context: CopiesContext): Promise<{ records: number }> {
  const { db, logger, signal, find = 'stale', fix = true } = context;
  let [records, failed] = [0, 0];
  for (const { id } of await allOrganizations(db)) {
    try {
      for (const copies of RESOURCES) records += await sweepRecords(scopeTo(db, id), copies, context);
    } catch (error) {
      failed += 1;
      logger.error({ err: error, organizationId: id }, 'the copies of an organization failed');
    }
  }
  logger[find === 'wrong' && records > 0 ? 'warn' : 'info'](
    { records, fixed: fix, stopped: signal?.aborted ?? false },
    find === 'wrong' ? 'compared the copies with their records' : 'kept the copies of records',
  );
  if (failed > 0) throw new Error(`The copies of ${failed} organizations failed; the lines before say why.`);
  return { records };
}
