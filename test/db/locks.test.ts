import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { useDashboard } from '../support/dashboard.ts';
import { findDrift } from '../support/drift.ts';
import { conversation, customer, opportunity, quote } from '../support/records.ts';
import type { Agency, Reply } from '../support/service.ts';

/** The order of locks of src/db/README.md: simultaneous writes wait for each other, and never in a circle. */

const { service, dashboard } = useDashboard();

const MEETINGS = Number(process.env.MEETINGS ?? 12);
const AT_ONCE = 6;

/** Creates the records of one round, and returns a function that sends two simultaneous writes. */
type Prepare = (agency: Agency, round: number) => Promise<() => [Promise<Reply>, Promise<Reply>]>;

const web = (value: string) => ({ identifierType: 'web', identifierValue: value });
const phoneOf = (round: number): string => `+5255${10_000_000 + round}`;
const whatsapp = (round: number) => ({ identifierType: 'whatsapp', identifierValue: phoneOf(round) });

const act = (agency: Agency, { id }: { id: string }, action: 'erase' | 'merge', body?: object) =>
  dashboard.of(agency).post(`/customers/${id}/${action}`, body);
const patch = (agency: Agency, { id }: { id: string }, ...contacts: object[]) =>
  agency.patch(`/v1/customers/${id}`, { contacts });
const create = (agency: Agency, ...contacts: object[]) => agency.post('/v1/customers', { contacts });

/** A customer with a conversation, and a write that renames the contact. */
async function speaker(agency: Agency, round: number) {
  const ana = await customer(agency, { contacts: [whatsapp(round), web(`ana ${round}`)] });
  const fields = { channel: 'whatsapp', contact: phoneOf(round), customerId: ana.id };
  const { id } = await conversation(agency, { ...fields, contactName: 'Ana' });
  const rename = () => dashboard.of(agency).put(`/conversations/${id}`, { ...fields, contactName: 'Anita' });
  return { ana, rename };
}

/** The statuses that the two writes may return, and the writes. */
const PAIRS: Record<string, [first: number[], second: number[], prepare: Prepare]> = {
  'a create and a PATCH of one contact': [
    [201, 409],
    [200, 409],
    async (agency, round) => {
      const ana = await customer(agency);
      const contacts = [whatsapp(round), web(`a ${round}`)];
      return () => [create(agency, ...contacts), patch(agency, ana, ...contacts.toReversed())];
    },
  ],
  'customers that swap contacts': [
    [200, 409],
    [200, 409],
    async (agency, round) => {
      const [a, b] = [web(`a ${round}`), web(`b ${round}`)];
      const ana = await customer(agency, { contacts: [a] });
      const eva = await customer(agency, { contacts: [b] });
      return () => [patch(agency, ana, b), patch(agency, eva, a)];
    },
  ],
  'an erasure and a conversation': [
    [200],
    [200],
    async (agency, round) => {
      const { ana, rename } = await speaker(agency, round);
      return () => [act(agency, ana, 'erase'), rename()];
    },
  ],
  'an archive and a conversation': [
    [200],
    [200],
    async (agency, round) => {
      const { ana, rename } = await speaker(agency, round);
      return () => [agency.delete(`/v1/customers/${ana.id}`), rename()];
    },
  ],
  'a PATCH of contacts and a conversation': [
    [200],
    [200],
    async (agency, round) => {
      const { ana, rename } = await speaker(agency, round);
      return () => [patch(agency, ana, web(`ana ${round}`)), rename()];
    },
  ],
  'a create and the first conversation with its contact': [
    [201],
    [201],
    async (agency, round) => {
      const body = { channel: 'whatsapp', contact: phoneOf(round), contactName: 'Ana' };
      return () => [
        create(agency, whatsapp(round)),
        dashboard.of(agency).put(`/conversations/${randomUUID()}`, body),
      ];
    },
  ],
  'an erasure and an opportunity': [
    [200],
    [200],
    async (agency) => {
      const ana = await customer(agency);
      const { id } = await opportunity(agency, { customerId: ana.id });
      const body = { salesStage: 'won', title: 'Oaxaca', customerId: ana.id };
      return () => [act(agency, ana, 'erase'), dashboard.of(agency).put(`/opportunities/${id}`, body)];
    },
  ],
  'an erasure and a quote': [
    [200],
    [200, 400],
    async (agency) => {
      const ana = await customer(agency);
      const { id: opportunityId } = await opportunity(agency, { customerId: ana.id });
      // Without a customer of its own: it belongs to the customer through its opportunity.
      const { id } = await quote(agency, { opportunityId, customerId: null });
      const body = { opportunityId, customerId: ana.id, title: 'Oaxaca', status: 'published' };
      return () => [act(agency, ana, 'erase'), dashboard.of(agency).put(`/quotes/${id}`, body)];
    },
  ],
  'a merge and a conversation': [
    [200],
    [200],
    async (agency, round) => {
      const [{ ana, rename }, eva] = [await speaker(agency, round), await customer(agency)];
      return () => [act(agency, eva, 'merge', { from: ana.id }), rename()];
    },
  ],
  'a merge and a PATCH of contacts': [
    [200],
    [200, 404],
    async (agency, round) => {
      const [{ ana }, eva] = [await speaker(agency, round), await customer(agency)];
      return () => [
        act(agency, eva, 'merge', { from: ana.id }),
        patch(agency, ana, web(`other ${round}`), whatsapp(round)),
      ];
    },
  ],
  'a merge and a create of a contact': [
    [200],
    [409],
    async (agency, round) => {
      const [{ ana }, eva] = [await speaker(agency, round), await customer(agency)];
      return () => [
        act(agency, eva, 'merge', { from: ana.id }),
        create(agency, web(`new ${round}`), whatsapp(round)),
      ];
    },
  ],
  'a merge and an erasure': [
    [200, 400],
    [200],
    async (agency, round) => {
      const [{ ana }, eva] = [await speaker(agency, round), await customer(agency)];
      return () => [act(agency, eva, 'merge', { from: ana.id }), act(agency, ana, 'erase')];
    },
  ],
  'merges of two customers into each other': [
    [200, 400, 404],
    [200, 400, 404],
    async (agency, round) => {
      const [{ ana }, eva] = [await speaker(agency, round), await customer(agency)];
      return () => [act(agency, ana, 'merge', { from: eva.id }), act(agency, eva, 'merge', { from: ana.id })];
    },
  ],
};

test.each(Object.entries(PAIRS))('%s at once cause no deadlock', async (_name, [first, second, prepare]) => {
  const agency = await service.agency();
  for (let round = 0; round < MEETINGS; round += AT_ONCE) {
    const rounds = Array.from({ length: AT_ONCE }, (_, index) => round + index);
    const sends = await Promise.all(rounds.map((each) => prepare(agency, each)));
    for (const [one, other] of await Promise.all(sends.map((send) => Promise.all(send())))) {
      expect(first, one.text).toContain(one.status);
      expect(second, other.text).toContain(other.status);
    }
  }
  expect(await findDrift(service, agency)).toEqual([]);
});

afterAll(async () => {
  // A connection reports its deadlocks within a second.
  await pause(1_200);
  const deadlocks = 'select deadlocks::int from pg_stat_database where datname = current_database()';
  expect(await service.query(deadlocks)).toEqual([{ deadlocks: 0 }]);
});
