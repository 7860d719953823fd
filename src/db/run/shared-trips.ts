import type pg from 'pg';
import type { Step } from '../sql/statement.ts';
import type { Deadline } from './deadline.ts';
import { spoilsConnection, sqlState } from './faults.ts';
import { sendTogether } from './trip.ts';

type Read = {
  step: Step;
  /** Reads of one flow may share a round trip. */
  flow: string;
  deadline: Deadline;
  /** Runs work on a connection, when it is this read's turn. */
  withClient: <Result>(work: (client: pg.Client) => Promise<Result>) => Promise<Result>;
};

type Waiting = Read & { done: (rows: object[]) => void; fail: (error: unknown) => void };

/** Two to eight measured the same. Four, because each read waits for the slowest of its trip. */
const TOGETHER = 4;

/**
 * Sends the short reads of one tick of the event loop several in one round trip, and one that comes alone at once. Answers
 * the rows. Measured on `get customer` over a trip for each: 1.2 times the throughput with 10 clients, 1.5 times with 32,
 * the same with one.
 */
export function shareTrips(): (read: Read) => Promise<object[]> {
  let gathered: Waiting[] = [];
  /** Round trips that run or wait for a connection. */
  let trips = 0;
  /** Reads came several at a time. To hold back one that comes alone only costs it time. */
  let isCrowded = false;

  function send(): void {
    const reads = gathered;
    gathered = [];
    isCrowded = reads.length > 1 || trips > 0;
    for (const group of Map.groupBy(reads, ({ flow }) => flow).values())
      for (let start = 0; start < group.length; start += TOGETHER)
        answer(group.slice(start, start + TOGETHER));
  }

  async function answer(reads: readonly Waiting[]): Promise<void> {
    const [first] = reads;
    if (!first) return;
    const queries = reads.map(({ step }) => step.query);
    for (const { deadline } of reads) deadline.clock = first.deadline.clock;
    trips += 1;
    try {
      const answers = await first.withClient((client) => sendTogether(client, queries));
      for (const [index, { done }] of reads.entries()) done(answers[index] ?? []);
    } catch (error) {
      // What the server says of one read is not the others' fault: they are asked again one by one. A broken or silent
      // connection is everybody's: asking again would only double the time until they are told.
      const isOfOne = sqlState(error) !== undefined && !spoilsConnection(error);
      if (isOfOne && reads.length > 1) for (const read of reads) answer([read]);
      else for (const { fail } of reads) fail(error);
    } finally {
      trips -= 1;
    }
  }

  return (read) =>
    new Promise((done, fail) => {
      const waiting = { ...read, done, fail };
      if (trips === 0 && !isCrowded) answer([waiting]);
      else if (gathered.push(waiting) === 1) setImmediate(send);
    });
}
