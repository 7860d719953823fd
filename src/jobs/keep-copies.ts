import type { FastifyBaseLogger } from 'fastify';
import { productKeepers } from '../catalog/repository.ts';
import { customerKeepers } from '../customers/repository.ts';
import type { Database } from '../db/client.ts';
import type { Batch, Keeper } from '../db/keeper.ts';
import { scopeTo } from '../db/scope.ts';
import { allOrganizations } from '../organizations/repository.ts';

/** What is kept beside records to be read faster: their bodies, and what searches see of them. */

export type CopiesOptions = {
  db: Database;
  logger: FastifyBaseLogger;
  /** Records looked at by one statement, and made anew under one lock at most. */
  batchSize?: number;
  /** Ends the run after the batch that it is at. What is made by then stays, and the next run makes the rest. */
  signal?: AbortSignal | undefined;
};

/** How many copies there were to make anew. */
export type Copies = { bodies: number; searchable: number };

const KEEPERS = [productKeepers, customerKeepers];
const FIRST = '00000000-0000-0000-0000-000000000000';

/** Looks through all records of all organizations, a batch at a time, and makes the copies that `find` names. */
async function sweep(
  { db, batchSize = 500, signal }: CopiesOptions,
  kind: keyof Copies,
  find: 'stale' | 'wrong',
  fix: boolean,
): Promise<number> {
  let found = 0;
  for (const { id } of await allOrganizations(db)) {
    const scope = scopeTo(db, id);
    for (const { [kind]: keeper } of KEEPERS as Record<keyof Copies, Keeper>[]) {
      let after: Batch['last'] = FIRST;
      while (after !== undefined && !signal?.aborted) {
        const { ids, last }: Batch = await keeper[find](scope, after, batchSize);
        if (fix && ids.length > 0) await keeper.refresh(scope, ids);
        found += ids.length;
        after = last;
      }
    }
  }
  return found;
}

/**
 * Makes the bodies that are rendered while reading: after a release that changes fields, and those that were never kept.
 * Mends what searches see, where an instance of an older release has written a record.
 */
export async function keepCopies(options: CopiesOptions): Promise<Copies> {
  const kept = {
    searchable: await sweep(options, 'searchable', 'stale', true),
    bodies: await sweep(options, 'bodies', 'stale', true),
  };
  options.logger.info({ ...kept, stopped: options.signal?.aborted ?? false }, 'kept the copies of records');
  return kept;
}

/** Compares every copy with its record, logs how many are wrong, and with `fix` makes them anew. */
export async function compareCopies(options: CopiesOptions & { fix: boolean }): Promise<Copies> {
  const wrong = {
    bodies: await sweep(options, 'bodies', 'wrong', options.fix),
    searchable: await sweep(options, 'searchable', 'wrong', options.fix),
  };
  const isWrong = wrong.bodies + wrong.searchable > 0;
  options.logger[isWrong ? 'warn' : 'info'](
    { ...wrong, fixed: options.fix },
    'compared the copies with their records',
  );
  return wrong;
}
