import type pg from 'pg';
import { spoilsConnection, sqlState } from '../db/faults.ts';
import { type Column, queryRendered, type RenderedQueryConfig } from './rendered-query.ts';
import { atEndOfTick } from './tick.ts';

type Read = {
  query: RenderedQueryConfig;
  /** Of a lookup, with which others it may share a round trip. */
  lookupOf: string | undefined;
  /** Runs work on a connection, when it is this read's turn. */
  withClient: <Result>(work: (client: pg.Client) => Promise<Result>) => Promise<Result>;
};

type Waiting = Read & { done: (column: Column) => void; fail: (error: unknown) => void };

/** So many in one round trip: two to eight were measured alike, and of fewer each waits for fewer. */
const LOOKUPS_TOGETHER = 4;

/** Gathers the reads of one tick of the event loop, and sends lookups several in one round trip. Answers the one column as bytes. */
export function gatherReads(): (read: Read) => Promise<Column> {
  let gathered: Waiting[] = [];

  function send(): void {
    const reads = gathered;
    gathered = [];
    for (const [lookupOf, group] of Map.groupBy(reads, (read) => read.lookupOf)) {
      const together = lookupOf === undefined ? 1 : LOOKUPS_TOGETHER;
      for (let start = 0; start < group.length; start += together)
        answer(group.slice(start, start + together));
    }
  }

  async function answer(reads: readonly Waiting[]): Promise<void> {
    const [first] = reads;
    if (!first) return;
    const queries = reads.map(({ query }) => query);
    try {
      const columns = await first.withClient((client) => queryRendered(client, queries));
      for (const [index, { done }] of reads.entries()) done(columns[index]);
    } catch (error) {
      // What the server says of one query is not the others' fault: they are asked again one by one. A broken or silent
      // connection is everybody's: asking again would only double the time until they are told.
      const isOfOne = sqlState(error) !== undefined && !spoilsConnection(error);
      if (isOfOne && reads.length > 1) for (const read of reads) answer([read]);
      else for (const { fail } of reads) fail(error);
    }
  }

  return (read) =>
    new Promise((done, fail) => {
      if (gathered.push({ ...read, done, fail }) === 1) atEndOfTick(send);
    });
}
