import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { useDashboard } from '../support/dashboard.ts';
import { findDrift } from '../support/drift.ts';
import { conversation, customer, opportunity, quote } from '../support/records.ts';
import type { Agency, Reply } from '../support/service.ts';

/** The order of locks of src/db/README.md: writes that meet wait for each other, and never in a circle. */

const { service, dashboard } = useDashboard();

const MEETINGS = Number(process.env.MEETINGS ?? 12);
const AT_ONCE = 6;

type Write = () => Promise<Reply>;
/** Two writes that meet, and what each may return. A customer that is named anew may be archived by then: 400. */
type Pair = {
  writes: (agency: Agency, round: number) => Promise<readonly [Write, Write]>;
  allowed: [number[], number[]];
};

const web = (value: string) => ({ identifierType: 'web', identifierValue: value });
const contactOf = (round: number): string => `+5255${10_000_000 + round}`;
const whatsapp = (round: number) => ({ identifierType: 'whatsapp', identifierValue: contactOf(round) });

const post =
  (agency: Agency, body: object): Write =>
  () =>
    agency.post('/v1/customers', body);
const patch =
  (agency: Agency, { id }: { id: string }, body: object): Write =>
  () =>
    agency.patch(`/v1/customers/${id}`, body);
const put =
  (agency: Agency, path: string, { id }: { id: string }, body: object): Write =>
  () =>
    dashboard.of(agency).put(`/${path}/${id}`, body);
const act =
  (agency: Agency, { id }: { id: string }, action: string, body?: object): Write =>
  () =>
    dashboard.of(agency).post(`/customers/${id}/${action}`, body);

/** A customer with a thread whose name changes. */
async function speaker(agency: Agency, round: number) {
  const ana = await customer(agency, { contacts: [whatsapp(round), web(`ana ${round}`)] });
  const said = { channel: 'whatsapp', contact: contactOf(round), customerId: ana.id };
  const thread = await conversation(agency, { ...said, contactName: 'Ana' });
  return { ana, speak: put(agency, 'conversations', thread, { ...said, contactName: 'Anita' }) };
}

const PAIRS: Record<string, Pair> = {
  'a create and a PATCH of one contact': {
    writes: async (agency, round) => {
      const ana = await customer(agency);
      return [
        post(agency, { contacts: [whatsapp(round), web(`a ${round}`)] }),
        patch(agency, ana, { contacts: [web(`a ${round}`), whatsapp(round)] }),
      ];
    },
    allowed: [
      [201, 409],
      [200, 409],
    ],
  },
  'customers that swap contacts': {
    writes: async (agency, round) => {
      const own = [web(`a ${round}`), web(`b ${round}`)] as const;
      const [ana, eva] = [
        await customer(agency, { contacts: [own[0]] }),
        await customer(agency, { contacts: [own[1]] }),
      ];
      return [patch(agency, ana, { contacts: [own[1]] }), patch(agency, eva, { contacts: [own[0]] })];
    },
    allowed: [
      [200, 409],
      [200, 409],
    ],
  },
  'an erasure and a conversation': {
    writes: async (agency, round) => {
      const { ana, speak } = await speaker(agency, round);
      return [act(agency, ana, 'erase'), speak];
    },
    allowed: [[200], [200]],
  },
  'an archive and a conversation': {
    writes: async (agency, round) => {
      const { ana, speak } = await speaker(agency, round);
      return [() => agency.delete(`/v1/customers/${ana.id}`), speak];
    },
    allowed: [[200], [200]],
  },
  'a PATCH of contacts and a conversation': {
    writes: async (agency, round) => {
      const { ana, speak } = await speaker(agency, round);
      return [patch(agency, ana, { contacts: [web(`ana ${round}`)] }), speak];
    },
    allowed: [[200], [200]],
  },
  'a create and the first conversation with its contact': {
    writes: async (agency, round) => [
      post(agency, { contacts: [whatsapp(round)] }),
      put(
        agency,
        'conversations',
        { id: crypto.randomUUID() },
        {
          channel: 'whatsapp',
          contact: contactOf(round),
          contactName: 'Ana',
        },
      ),
    ],
    allowed: [[201], [201]],
  },
  'an erasure and an opportunity': {
    writes: async (agency) => {
      const { id: customerId } = await customer(agency);
      const lead = await opportunity(agency, { customerId });
      const body = { salesStage: 'won', title: 'Oaxaca', customerId };
      return [act(agency, { id: customerId }, 'erase'), put(agency, 'opportunities', lead, body)];
    },
    allowed: [[200], [200]],
  },
  'an erasure and a quote': {
    writes: async (agency) => {
      const { id: customerId } = await customer(agency);
      const { id: opportunityId } = await opportunity(agency, { customerId });
      // It names nobody, and is the customer's by its opportunity.
      const offer = await quote(agency, { opportunityId, customerId: null });
      const body = { opportunityId, customerId, title: 'Oaxaca', status: 'published' };
      return [act(agency, { id: customerId }, 'erase'), put(agency, 'quotes', offer, body)];
    },
    allowed: [[200], [200, 400]],
  },
  'a merge and a conversation': {
    writes: async (agency, round) => {
      const { ana, speak } = await speaker(agency, round);
      return [act(agency, await customer(agency), 'merge', { from: ana.id }), speak];
    },
    allowed: [[200], [200, 400]],
  },
  'a merge and a PATCH of contacts': {
    writes: async (agency, round) => {
      const { ana } = await speaker(agency, round);
      const contacts = [web(`other ${round}`), whatsapp(round)];
      return [
        act(agency, await customer(agency), 'merge', { from: ana.id }),
        patch(agency, ana, { contacts }),
      ];
    },
    allowed: [[200], [200, 404]],
  },
  'a merge and a create of a contact': {
    writes: async (agency, round) => {
      const { ana } = await speaker(agency, round);
      const contacts = [web(`new ${round}`), whatsapp(round)];
      return [act(agency, await customer(agency), 'merge', { from: ana.id }), post(agency, { contacts })];
    },
    allowed: [[200], [409]],
  },
  'a merge and an erasure': {
    writes: async (agency, round) => {
      const { ana } = await speaker(agency, round);
      return [act(agency, await customer(agency), 'merge', { from: ana.id }), act(agency, ana, 'erase')];
    },
    allowed: [[200, 400], [200]],
  },
  'merges of two customers into each other': {
    writes: async (agency, round) => {
      const [{ ana }, eva] = [await speaker(agency, round), await customer(agency)];
      return [act(agency, ana, 'merge', { from: eva.id }), act(agency, eva, 'merge', { from: ana.id })];
    },
    allowed: [
      [200, 400, 404],
      [200, 400, 404],
    ],
  },
};

async function deadlocks(): Promise<number> {
  // A connection reports what it counted within a second.
  await pause(1_200);
  const [row] = await service.query<{ count: number }>(
    'select deadlocks::int as count from pg_stat_database where datname = current_database()',
  );
  return row?.count ?? Number.NaN;
}

const agencies: Agency[] = [];

test.each(Object.entries(PAIRS))('%s meet without a deadlock', async (_name, { writes, allowed }) => {
  const agency = await service.agency();
  agencies.push(agency);
  for (let first = 0; first < MEETINGS; first += AT_ONCE) {
    const rounds = Array.from({ length: AT_ONCE }, (_, index) => first + index);
    const pairs = await Promise.all(rounds.map((round) => writes(agency, round)));
    const replies = await Promise.all(pairs.map((pair) => Promise.all(pair.map((write) => write()))));
    for (const pair of replies)
      for (const [index, { status, text }] of pair.entries())
        expect(allowed[index as 0 | 1], text).toContain(status);
  }
  expect(await findDrift(service, agency)).toEqual([]);
});

afterAll(async () => {
  expect(await deadlocks()).toBe(0);
});
