import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'vitest';
import { administer } from '../support/databases.ts';
import { clientOf, type Send } from './instance.ts';

/** What clients were told of their writes, to compare with what is stored. */

/** One customer of one client. What is not known for sure was answered with a 503, or with nothing. */
type Written = {
  /** The first contact, by which a create is found whose answer was lost. */
  contact: string;
  id: string | undefined;
  /** The last name that was acknowledged. */
  name: string;
  /** Names sent after that one, of which nobody knows. */
  perhaps: string[];
  archived: 'no' | 'perhaps' | 'yes';
};

export type Ledger = {
  customers: Written[];
  acknowledged: number;
  /** By status: 0 is a connection that broke. */
  answers: Map<number, number>;
};

export const openLedger = (): Ledger => ({ customers: [], acknowledged: 0, answers: new Map() });

/** Statuses other than success, with their number. */
export const failures = ({ answers }: Ledger): [number, number][] =>
  [...answers].filter(([status]) => status < 200 || status > 299);

let clients = 0;

/** Creates, changes, reads and archives customers until it is told to stop. */
export async function writeUntil(stop: AbortSignal, send: Send, ledger: Ledger): Promise<void> {
  clients += 1;
  const client = clients;
  const ask: Send = async (method, path, body) => {
    const answer = await send(method, path, body);
    ledger.answers.set(answer.status, (ledger.answers.get(answer.status) ?? 0) + 1);
    if (method !== 'GET' && answer.status >= 200 && answer.status < 300) ledger.acknowledged += 1;
    // Nobody listens: to ask at once would only keep the machine busy.
    if (answer.status === 0) await pause(20);
    return answer;
  };

  for (let turn = 0; !stop.aborted; turn += 1) {
    const contact = `client-${client}-${turn}`;
    const written: Written = { contact, id: undefined, name: 'created', perhaps: [], archived: 'no' };
    ledger.customers.push(written);
    const created = await ask('POST', '/v1/customers', {
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
      const { status } = await ask('PATCH', path, { firstName: name });
      if (status === 200) Object.assign(written, { name, perhaps: [] });
      else written.perhaps.push(name);
      await ask('GET', path);
    }
    await ask('GET', '/v1/customers?limit=5');
    if (turn % 4 !== 0) continue;
    const { status } = await ask('DELETE', path);
    written.archived = status === 200 || status === 204 ? 'yes' : 'perhaps';
  }
}

type Stored = { id: string; name: string; archived: boolean; contacts: string[]; total: number };

/** Holds what is stored to what was acknowledged: nothing lost, nothing half-written, nothing twice, nothing else. */
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
    const names = [written.name, ...written.perhaps];
    const isRight =
      (written.id ?? row.id) === row.id &&
      names.includes(row.name) &&
      row.contacts.length === 2 &&
      row.contacts[1] === `${written.contact}-second` &&
      (written.archived === 'perhaps' || row.archived === (written.archived === 'yes'));
    if (!isRight) wrong.push({ written, row });
  }
  expect(wrong).toEqual([]);
  expect([...byContact.values()]).toEqual([]);
  const send = clientOf(port, { 'x-api-key': agency.key });
  const { status, body } = await send('GET', '/v1/customers?limit=1');
  expect(status).toBe(200);
  expect(body.pagination.total).toBe(stored.filter(({ archived }) => !archived).length);
}
