import type { FastifyBaseLogger } from 'fastify';
import { productKeepers } from '../catalog/repository.ts';
import { customerKeepers } from '../customers/repository.ts';
import type { Database } from '../db/client.ts';
import type { Batch, Keeper } from '../db/keeper.ts';
import { type OrganizationScope, scopeTo } from '../db/scope.ts';
import { allOrganizations } from '../organizations/repository.ts';

/** What is kept beside records to be read faster: their bodies, and what searches see of them. */

export type CopiesOptions = {
  db: Database;
  logger: FastifyBaseLogger;
  /** Records looked at by one statement. */
  batchSize?: number;
  /** Ends the run after the batch that it is at. What is made by then stays, and the next run makes the rest. */
  signal?: AbortSignal | undefined;
};

/** How many copies there were to make anew. */
export type Copies = { bodies: number; searchable: number };

type Sweep = CopiesOptions & {
  find: 'stale' | 'wrong';
  fix: boolean;
  /** Gets the organizations that could not be looked through. */
  failed: Set<string>;
};

const KEEPERS = [productKeepers, customerKeepers];
const FIRST = '00000000-0000-0000-0000-000000000000';

/**
 * So many are made anew under one lock, and whoever changes one of them waits. 500 products of 240 kB took 9 s on two
 * busy cores, longer than a statement may; 50 of them took 1.2 s.
 */
const LOCKED_TOGETHER = 50;

/** Looks through the records of one organization, a batch at a time, and makes the copies that `find` names. */
async function sweepOrganization(
  scope: OrganizationScope,
  keeper: Keeper,
  { find, fix, batchSize = 500, signal }: Sweep,
): Promise<number> {
  let found = 0;
  let after: Batch['last'] = FIRST;
  while (after !== undefined && !signal?.aborted) {
    const { ids, last }: Batch = await keeper[find](scope, after, batchSize);
    for (let done = 0; fix && done < ids.length; done += LOCKED_TOGETHER)
      await keeper.refresh(scope, ids.slice(done, done + LOCKED_TOGETHER));
    found += ids.length;
    after = last;
  }
  return found;
}

/** The same for all organizations. One that fails is logged, and the others go on. */
async function sweep(kind: keyof Copies, options: Sweep): Promise<number> {
  const { db, logger, failed } = options;
  let found = 0;
  for (const { id } of await allOrganizations(db)) {
    try {
      for (const { [kind]: keeper } of KEEPERS as Record<keyof Copies, Keeper>[])
        found += await sweepOrganization(scopeTo(db, id), keeper, options);
    } catch (error) {
      failed.add(id);
      logger.error({ err: error, organizationId: id, copies: kind }, 'the copies of an organization failed');
    }
  }
  return found;
}

/** Searches first: without its copy a record is not found. Without its body it is only read more slowly. */
const sweepAll = async (options: Sweep): Promise<Copies> => ({
  searchable: await sweep('searchable', options),
  bodies: await sweep('bodies', options),
});

function refuseFailed({ size }: Set<string>): void {
  if (size > 0) throw new Error(`The copies of ${size} organizations failed; the lines before say why.`);
}

/**
 * Makes the bodies that are rendered while reading: after a release that changes fields, and those that were never kept.
 * Mends what searches see, where an instance of an older release has written a record.
 * @throws when organizations failed, after all others are done
 */
export async function keepCopies(options: CopiesOptions): Promise<Copies> {
  const failed = new Set<string>();
  const kept = await sweepAll({ ...options, find: 'stale', fix: true, failed });
  options.logger.info({ ...kept, stopped: options.signal?.aborted ?? false }, 'kept the copies of records');
  refuseFailed(failed);
  return kept;
}

/**
 * Compares every copy with its record, logs how many are wrong, and with `fix` makes them anew.
 * @throws when organizations failed, after all others are done
 */
export async function compareCopies({ fix, ...options }: CopiesOptions & { fix: boolean }): Promise<Copies> {
  const failed = new Set<string>();
  const wrong = await sweepAll({ ...options, find: 'wrong', fix, failed });
  const isWrong = wrong.bodies + wrong.searchable > 0;
  options.logger[isWrong ? 'warn' : 'info'](
    { ...wrong, fixed: fix },
    'compared the copies with their records',
  );
  refuseFailed(failed);
  return wrong;
}
