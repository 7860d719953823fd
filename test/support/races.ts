import { expect } from 'vitest';
import type { OrganizationScope } from '../../src/db/index.ts';
import { countAtWork } from './databases.ts';
import type { Agency, Service } from './service.ts';

/** Races that are held at the point where the other comes in. */

export type Work = (scope: OrganizationScope) => Promise<unknown>;

/** The first is not committed before the second waits for it, or is done. Returns what the second returns. */
export async function overlap<Result>(
  { ownerUrl }: Service,
  { scope }: Agency,
  first: Work,
  second: (scope: OrganizationScope) => Promise<Result>,
): Promise<Result> {
  let isDone = false;
  // In an array: a promise that a promise returns would be awaited.
  const [running] = await scope.transaction(async (within) => {
    await first(within);
    const running = second(scope).finally(() => {
      isDone = true;
    });
    await expect.poll(async () => isDone || (await countAtWork(ownerUrl, 'Lock')) > 0).toBe(true);
    return [running];
  });
  return running;
}

/** Runs `act` before the first statement with this name; `ran` has the names of all statements. */
export function interrupted(scope: OrganizationScope, name: string, act: () => Promise<unknown>) {
  const ran: string[] = [];
  const wrap = (scope: OrganizationScope): OrganizationScope => {
    const query =
      (verb: 'read' | 'write'): OrganizationScope['read'] =>
      async (statement, values) => {
        const isFirst = statement.name === name && !ran.includes(name);
        ran.push(statement.name);
        if (isFirst) await act();
        return scope[verb](statement, values);
      };
    return {
      ...scope,
      read: query('read'),
      write: query('write'),
      transaction: (work) => scope.transaction((within) => work(wrap(within))),
    };
  };
  return { scope: wrap(scope), ran };
}
