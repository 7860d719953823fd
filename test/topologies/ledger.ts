import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'vitest';
import { administer } from '../support/databases.ts';
import { clientOf, type Send } from './instance.ts';

/** The outcomes of clients' writes, to compare with the stored rows. */

/** One customer of one client. A write of unknown outcome had the status 503, or no response. */
type Written = {
  /** The first contact: it finds the customer of a create whose response was lost. */
  contact: string;
  id: string | undefined;
  /** The last name that was acknowledged. */
  name: string;
  /** Later names, of unknown outcome. */
  unknownNames: string[];
  archived: 'no' | 'unknown' | 'yes';
};

type Ledger = {
  customers: Written[];
  acknowledged: number;
  /** By status: 0 is a connection that broke. */
  statuses: Map<number, number>;
};

/** Statuses other than success, with their number. */
export const failures = ({ statuses }: Ledger): [number, number][] =>
  [...statuses].filter(([status]) => status < 200 || status > 299);

let clients = 0;

/** Creates, changes, reads and archives customers until the signal. */
async function writeUntil(stop: AbortSignal, send: Send, ledger: Ledger): Promise<void> {
  clients += 1;
  const client = clients;
  const request: Send = async (method, path, body) => {
    const response = await send(method, path, body);
    const { status } = response;
    ledger.statuses.set(status, (ledger.statuses.get(status) ?? 0) + 1);
    if (method !== 'GET' && status >= 200 && status < 300) ledger.acknowledged += 1;
    // The port is closed: an immediate retry would only load the machine.
    if (status === 0) await pause(20);
    return response;
  };

  for (let index = 0; !stop.aborted; index += 1) {
    const contact = `client-${client}-${index}`;
    const written: Written = { contact, id: undefined, name: 'created', unknownNames: [], archived: 'no' };
    ledger.customers.push(written);
    const created = await request('POST', '/v1/customers', {
      firstName: 'created',
      contacts: [contact, `${contact}-second`].map((identifierValue) => ({
        identifierType: 'web',
        identifierValue,
      })),
    });
    if (created.status !== 201) continue;
    written.id = created.body.id;
    const path = `/v1/customers/${written.id}`;
    for (let change = 0; change < 3 && !stop.aborted; change += 1) {
      const name = `changed ${change}`;
      const { status } = await request('PATCH', path, { firstName: name });
      if (status === 200) Object.assign(written, { name, unknownNames: [] });
      else written.unknownNames.push(name);
      await request('GET', path);
    }
    await request('GET', '/v1/customers?limit=5');
    if (index % 4 !== 0) continue;
    const { status } = await request('DELETE', path);
    written.archived = status === 200 || status === 204 ? 'yes' : 'unknown';
  }
}

/** Clients that write until `stop` is called. */
export function startTraffic(port: number, key: string, clients: number) {
  const stop = new AbortController();
  const ledger: Ledger = { customers: [], acknowledged: 0, statuses: new Map() };
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

type Stored = { id: string; name: string; archived: boolean; contacts: string[]; total: number };

/** Expects every acknowledged write in the stored rows: none lost, partial or duplicated, and no others. */
export async function compare(
  ledger: Ledger,
  agency: { id: string; key: string },
  ownerUrl: string,
  port: number,
): Promise<void> {
  const stored = await administer(ownerUrl, async (client) => {
    const { rows } = await client.query<Stored>(
      `select c.id, first_name as name, c.archived_at is not null as archived,
          array(select contact ->> 'identifierValue' from json_array_elements(contacts) contact) as contacts
        from customers c where c.organization_id = $1`,
      [agency.id],
    );
    return rows;
  });
  const byContact = new Map(stored.map((row) => [row.contacts[0], row]));
  expect(byContact.size).toBe(stored.length);

  const wrong: unknown[] = [];
  for (const written of ledger.customers) {
    const row = byContact.get(written.contact);
    byContact.delete(written.contact);
    if (!row) {
      if (written.id !== undefined) wrong.push({ lost: written });
      continue;
    }
    const names = [written.name, ...written.unknownNames];
    const isRight =
      (written.id ?? row.id) === row.id &&
      names.includes(row.name) &&
      row.contacts.length === 2 &&
      row.contacts[1] === `${written.contact}-second` &&
      (written.archived === 'unknown' || row.archived === (written.archived === 'yes'));
    if (!isRight) wrong.push({ written, row });
  }
  expect(wrong).toEqual([]);
  expect([...byContact.values()]).toEqual([]);
  const send = clientOf(port, { 'x-api-key': agency.key });
  const { status, body } = await send('GET', '/v1/customers?limit=1');
  expect(status).toBe(200);
  expect(body.pagination.total).toBe(stored.filter(({ archived }) => !archived).length);
}
