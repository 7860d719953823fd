import type { FastifyBaseLogger } from 'fastify';
import { productView } from '../catalog/repository.ts';
import { customerView } from '../customers/repository.ts';
import { type Batch, type Copies, defineCopies } from '../db/copies/copies.ts';
import type { Database } from '../db/run/client.ts';
import { type OrganizationScope, scopeTo } from '../db/run/scope.ts';
import { allOrganizations } from '../organizations/repository.ts';

/** Read rows and search rows, which are kept beside the records. */

export type CopiesOptions = {
  db: Database;
  logger: FastifyBaseLogger;
  /** Records looked at by one statement. */
  batchSize?: number;
  /** Ends the run after its current batch. The next run makes the rest. */
  signal?: AbortSignal | undefined;
};

type Sweep = CopiesOptions & { find: 'stale' | 'wrong'; fix: boolean };

export const productCopies = defineCopies(productView);
export const customerCopies = defineCopies(customerView);
const RESOURCES: readonly Copies[] = [productCopies, customerCopies];
const FIRST = '00000000-0000-0000-0000-000000000000';

/** Looks through the records of one kind, a batch at a time, and makes the copies that `find` names. */
async function sweepRecords(
  scope: OrganizationScope,
  copies: Copies,
  { find, fix, batchSize = 500, signal }: Sweep,
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

/** The same for all organizations. One that fails is logged, and the others go on. */
async function sweep(options: Sweep): Promise<{ records: number; failed: number }> {
  const { db, logger } = options;
  const swept = { records: 0, failed: 0 };
  for (const { id } of await allOrganizations(db)) {
    try {
      for (const copies of RESOURCES) swept.records += await sweepRecords(scopeTo(db, id), copies, options);
    } catch (error) {
      swept.failed += 1;
      logger.error({ err: error, organizationId: id }, 'the copies of an organization failed');
    }
  }
  return swept;
}

function refuseFailed(failed: number): void {
  if (failed > 0) throw new Error(`The copies of ${failed} organizations failed; the lines before say why.`);
}

/**
 * Makes the copies anew that are of another release: those that are rendered while reading, or not found by searches.
 * @throws when organizations failed, after all others are done
 */
export async function keepCopies(options: CopiesOptions): Promise<number> {
  const { records, failed } = await sweep({ ...options, find: 'stale', fix: true });
  options.logger.info({ records, stopped: options.signal?.aborted ?? false }, 'kept the copies of records');
  refuseFailed(failed);
  return records;
}

/**
 * Compares every copy with its record, logs how many records are shown wrong, and with `fix` makes their copies anew.
 * @throws when organizations failed, after all others are done
 */
export async function compareCopies({ fix, ...options }: CopiesOptions & { fix: boolean }): Promise<number> {
  const { records, failed } = await sweep({ ...options, find: 'wrong', fix });
  options.logger[records > 0 ? 'warn' : 'info'](
    { records, fixed: fix },
    'compared the copies with their records',
  );
  refuseFailed(failed);
  return records;
}
