import type { FastifyBaseLogger } from 'fastify';
import { productBodyKeeper } from '../catalog/repository.ts';
import { customerBodyKeeper } from '../customers/repository.ts';
import type { Database } from '../db/client.ts';
import { scopeTo } from '../db/scope.ts';
import type { BodyBatch, BodyKeeper } from '../db/stored-body.ts';
import { allOrganizations } from '../organizations/repository.ts';

export type KeepBodiesOptions = {
  db: Database;
  logger: FastifyBaseLogger;
  /** Records looked at by one statement, and rendered under one lock at most. */
  batchSize?: number;
  /** Ends the run after the batch that it is at; the next run goes on from there. */
  signal?: AbortSignal | undefined;
};

const KEEPERS: readonly BodyKeeper[] = [productBodyKeeper, customerBodyKeeper];
const FIRST = '00000000-0000-0000-0000-000000000000';

/** Looks through all records of all organizations, a batch at a time, and makes the bodies that `find` names. */
async function sweep(
  { db, batchSize = 500, signal }: KeepBodiesOptions,
  find: 'stale' | 'wrong',
  fix: boolean,
): Promise<number> {
  let found = 0;
  for (const { id } of await allOrganizations(db)) {
    const scope = scopeTo(db, id);
    for (const keeper of KEEPERS) {
      let after: BodyBatch['last'] = FIRST;
      while (after !== undefined && !signal?.aborted) {
        const { ids, last }: BodyBatch = await keeper[find](scope, after, batchSize);
        if (fix && ids.length > 0) await keeper.refresh(scope, ids);
        found += ids.length;
        after = last;
      }
    }
  }
  return found;
}

/** Makes the bodies that are rendered while reading: after a release that changes fields, and those that were never kept. */
export async function keepBodies(options: KeepBodiesOptions): Promise<{ bodies: number }> {
  const kept = { bodies: await sweep(options, 'stale', true) };
  options.logger.info({ ...kept, stopped: options.signal?.aborted ?? false }, 'kept the bodies of records');
  return kept;
}

/** Compares every kept body with what rendering gives now, logs how many differ, and with `fix` makes them anew. */
export async function compareBodies(
  options: KeepBodiesOptions & { fix: boolean },
): Promise<{ wrong: number }> {
  const compared = { wrong: await sweep(options, 'wrong', options.fix) };
  options.logger[compared.wrong > 0 ? 'warn' : 'info'](
    { ...compared, fixed: options.fix },
    'compared the bodies',
  );
  return compared;
}
