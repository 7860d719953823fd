import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'vitest';
import { runSql } from '../support/databases.ts';
import { web } from '../support/records.ts';
import { clientOf, type Send } from './instance.ts';

/** The outcomes of clients' writes, to compare with the stored rows. */

/** What may be stored of one customer: each write of unknown outcome, one with the status 503 or without a response, adds a value. */
type Written = { id?: string; names: string[]; archived: boolean[] };

type Ledger = {
  /** By their first contact: it finds the customer of a create whose response was lost. */
  customers: Map<string, Written>;
  acknowledged: number;
  /** By status: 0 is a connection that broke. */
  statuses: Map<number, number>;
};

export const failures = ({ statuses }: Ledger): [number, number][] =>
  [...statuses].filter(([status]) => status < 200 || status > 299);

async function writeUntil(stop: AbortSignal, send: Send, ledger: Ledger): Promise<void> {
  const request: Send = async (method, path, body) => {
    const response = await send(method, path, body);
    const { status } = response;
    ledger.statuses.set(status, (ledger.statuses.get(status) ?? 0) + 1);
    if (method !== 'GET' && status >= 200 && status < 300) ledger.acknowledged += 1;
    // The port is closed: an immediate retry would only load the machine.
    if (status === 0) await pause(20);
    return response;
  };

  while (!stop.aborted) {
    const contact = `customer ${ledger.customers.size}`;
    const written: Written = { names: ['created'], archived: [false] };
    ledger.customers.set(contact, written);
    const contacts = [contact, `${contact}, second`].map(web);
    const created = await request('POST', '/v1/customers', { firstName: 'created', contacts });
    if (created.status !== 201) continue;
    written.id = created.body.id;
    const path = `/v1/customers/${written.id}`;
    for (const firstName of ['changed', 'changed again']) {
      const { status } = await request('PATCH', path, { firstName });
      written.names = status === 200 ? [firstName] : [...written.names, firstName];
      await request('GET', path);
    }
    await request('GET', '/v1/customers?limit=5');
    if (ledger.customers.size % 4 > 0) continue;
    const { status } = await request('DELETE', path);
    written.archived = status === 200 ? [true] : [false, true];
  }
}

export function startTraffic(port: number, key: string, clients: number) {
  const stop = new AbortController();
  const ledger: Ledger = { customers: new Map(), acknowledged: 0, statuses: new Map() };
  const send = clientOf(port, { 'x-api-key': key });
  const writing = Array.from({ length: clients }, () => writeUntil(stop.signal, send, ledger));
  return {
    ledger,
    requests: () => [...ledger.statuses.values()].reduce((sum, count) => sum + count, 0),
    /** Resolves after so many more acknowledged writes: the service works again. */
    progress: async (writes: number) => {
      const goal = ledger.acknowledged + writes;
      while (ledger.acknowledged < goal) await pause(10);
    },
    stop: async () => {
      stop.abort();
      await Promise.all(writing);
    },
  };
}

type Stored = { id: string; name: string; archived: boolean; contact: string; second: string };

/** Expects every acknowledged write in the stored rows: none lost, partial or duplicated, and no others. */
export async function compare(
  { customers }: Ledger,
  agency: { id: string; key: string },
  ownerUrl: string,
  port: number,
): Promise<void> {
  const rows = await runSql<Stored>(
    ownerUrl,
    `select id, first_name as name, archived_at is not null as archived,
        contacts -> 0 ->> 'identifierValue' as contact, contacts -> 1 ->> 'identifierValue' as second
      from customers where organization_id = $1`,
    [agency.id],
  );
  const waiting = new Map(customers);
  const wrong = rows.filter(({ id, name, archived, contact, second }) => {
    const written = waiting.get(contact);
    waiting.delete(contact);
    const isSame = (written?.id ?? id) === id && second === `${contact}, second`;
    return !(written?.names.includes(name) && written.archived.includes(archived) && isSame);
  });
  expect(wrong).toEqual([]);
  expect([...waiting.values()].filter(({ id }) => id !== undefined)).toEqual([]);
  const send = clientOf(port, { 'x-api-key': agency.key });
  const { status, body } = await send('GET', '/v1/customers?limit=1');
  expect(status).toBe(200);
  expect(body.pagination.total).toBe(rows.filter(({ archived }) => !archived).length);
}
