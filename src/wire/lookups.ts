import type pg from 'pg';
import type { QueryConfig } from 'pg';
import { isTransient, sqlState } from '../db/faults.ts';
import { type Column, canShare, queryRendered } from './rendered-query.ts';
import { atEndOfTick } from './tick.ts';

/** Runs work on a connection of the pool. */
type WithClient = <Result>(work: (client: pg.Client) => Promise<Result>) => Promise<Result>;

/** Runs a query whose one column is a body, and returns its bytes. A lookup may share its round trip with others. */
export type ReadBody = (query: QueryConfig, options: { isLookup: boolean }) => Promise<Column>;

type Waiting = {
  query: QueryConfig;
  isLookup: boolean;
  done: (column: Column) => void;
  fail: (error: unknown) => void;
};

/**
 * Lookups in one round trip. Two to eight were measured to be equally fast. With fewer, each waits for fewer others.
 */
const LOOKUPS_TOGETHER = 4;

/** Gathers the reads of one tick of the event loop. Several lookups go out in one round trip. */
export function gatherReads(withClient: WithClient): ReadBody {
  let gathered: Waiting[] = [];

  function send(): void {
    const reads = gathered;
    gathered = [];
    const lookups = reads.filter(({ isLookup }) => isLookup);
    for (let start = 0; start < lookups.length; start += LOOKUPS_TOGETHER)
      answer(lookups.slice(start, start + LOOKUPS_TOGETHER));
    for (const read of reads) if (!read.isLookup) answer([read]);
  }

  async function answer(reads: readonly Waiting[]): Promise<void> {
    const queries = reads.map(({ query }) => query);
    try {
      const columns = await withClient(async (client) => {
        if (canShare(client, queries)) return queryRendered(client, queries);
        const alone: Column[] = [];
        for (const query of queries) alone.push(...(await queryRendered(client, [query])));
        return alone;
      });
      for (const [index, { done }] of reads.entries()) done(columns[index]);
    } catch (error) {
      // The server refused one query: the others are not at fault, so each is asked again alone. A broken or silent
      // connection concerns all: asking again would only double the time until they know.
      const isOfOne = sqlState(error) !== undefined && !isTransient(error);
      if (isOfOne && reads.length > 1) for (const read of reads) answer([read]);
      else for (const { fail } of reads) fail(error);
    }
  }

  return (query, { isLookup }) =>
    new Promise((done, fail) => {
      if (gathered.push({ query, isLookup, done, fail }) === 1) atEndOfTick(send);
    });
}
