import { expect, test } from 'vitest';
import { useDashboard } from '../support/dashboard.ts';
import { TENANT_TABLES } from '../support/dataset.ts';
import { findDrift } from '../support/drift.ts';
import { type Sent, send } from '../support/operations.ts';
import type { Fields } from '../support/records.ts';
import type { Agency } from '../support/service.ts';
import { followerOf } from './follower.ts';
import { type Known, type Random, randomOf, readOf, rivalsOf, SHARED, WRITES, writeOf } from './requests.ts';

/**
 * Random writes to two organizations, whose records have the same ids. WALK_SEED repeats a run; WALK_RUNS sets the number of
 * walks. What single requests return is stated by the tests of the resources.
 */

const RUNS = Number(process.env.WALK_RUNS ?? 6);
const SEED = Number(process.env.WALK_SEED ?? 20_261_128);
const STEPS = 120;
/** Only a step that hangs reaches it. */
const TIMEOUT = RUNS * STEPS * 2_000;

const { service, dashboard } = await useDashboard();

type Rows = Record<string, Fields[]>;
const stored = (agency: Agency) => dashboard.stored(agency) as Promise<Rows>;

/** The ids of the organization, those of archived records first. */
function knownOf({ customers = [], products = [] }: Rows): Known {
  const idsOf = (rows: Fields[]) =>
    rows
      .toSorted((one, other) => Number(one.archived_at === null) - Number(other.archived_at === null))
      .map(({ id }) => String(id));
  const variants = products.flatMap((row) => row.variants as { id: string }[]);
  return {
    customerId: idsOf(customers),
    productId: idsOf(products),
    variantId: variants.map(({ id }) => id),
  };
}

/** Rows that differ have a later `updated_at`, and others the same. A message moves that of its conversations. */
function compareTimestamps(before: Rows, after: Rows): void {
  for (const table of TENANT_TABLES) {
    const old = new Map(before[table]?.map((row) => [row.id, row]));
    for (const row of after[table] ?? []) {
      const { updated_at: was, ...known } = old.get(row.id) ?? {};
      const { updated_at: now, ...fields } = row;
      if (was === undefined || now === undefined) continue;
      const isChanged = JSON.stringify(known) !== JSON.stringify(fields);
      if (isChanged) expect(String(now) > String(was), `${table} ${row.id}: updated_at moves`).toBe(true);
      else if (table !== 'conversations') expect(now, `${table} ${row.id}: updated_at stays`).toBe(was);
    }
  }
}

const succeeded = new Set<string>();

/** Sends one write, and what it makes of the organization holds what the documents promise of any write. */
async function write(agency: Agency, sent: Sent & { name: string }, before: Rows): Promise<Rows> {
  const world = { service, dashboard, agency };
  const reply = await send(world, sent);
  const after = await stored(agency);
  if (reply.status >= 400) {
    expect([400, 404, 409], reply.text).toContain(reply.status);
    expect(after, 'a rejected request changes nothing').toEqual(before);
    return after;
  }
  succeeded.add(sent.name);
  compareTimestamps(before, after);
  const path = readOf(sent, reply.body.id);
  if (path !== undefined) {
    const read = await send(world, { method: 'GET', path });
    expect(read.text, 'a write returns what the next GET returns').toBe(reply.text);
    expect(read.headers.etag).toBe(reply.headers.etag);
  }
  // A variant or a message without an id or a timestamp would be another one.
  if (/^PUT|^PATCH/.test(sent.method) && !('variants' in (sent.body ?? {}))) {
    const again = await send(world, sent);
    expect([again.status, again.body], 'the same request again').toEqual([200, reply.body]);
    expect(await stored(agency), 'changes nothing').toEqual(after);
  }
  return after;
}

/** So that records of each kind are there, with the same ids in both organizations. */
async function begin(random: Random, agency: Agency): Promise<void> {
  const creates = WRITES.filter((name) => /^PUT(?!.*messages)|^POST \/v1/.test(name));
  for (const name of ['POST /v1/customers', 'POST /v1/catalog/products', ...creates]) {
    const known = knownOf(await stored(agency));
    for (const id of name.startsWith('PUT') ? SHARED.slice(0, 2) : SHARED) {
      const ids = Object.fromEntries([...name.matchAll(/\{(\w+)\}/g)].map(([, each]) => [each, id]));
      await send({ service, dashboard, agency }, writeOf(random, known, agency.id, [name], ids));
    }
  }
}

test('after any writes, one or several at once: what is rejected changes nothing, a write returns what is read, timestamps move with changes, a copy by updatedSince is right, and nobody else has changed', {
  timeout: TIMEOUT,
}, async () => {
  for (let run = 0; run < RUNS; run += 1) {
    const random = randomOf(SEED + run);
    const pair = [await service.agency(), await service.agency()] as const;
    for (const agency of pair) await begin(random, agency);
    const followers = pair.map((agency) => followerOf(service, agency));
    const rows = [await stored(pair[0]), await stored(pair[1])] as [Rows, Rows];
    for (let step = 0; step < STEPS; step += 1) {
      const side = random(2) as 0 | 1;
      const [agency, known] = [pair[side], knownOf(rows[side])];
      const isRace = random(8) === 0;
      const sent = isRace ? rivalsOf(random, known, agency.id) : [writeOf(random, known, agency.id)];
      try {
        if (isRace) {
          const replies = await Promise.all(sent.map((each) => send({ service, dashboard, agency }, each)));
          for (const { status, text } of replies) expect(status, text).toBeLessThan(500);
          rows[side] = await stored(agency);
          expect(await findDrift(service, agency)).toEqual([]);
        } else for (const one of sent) rows[side] = await write(agency, one, rows[side]);
        const other = side === 0 ? 1 : 0;
        expect(await stored(pair[other]), 'the other organization').toEqual(rows[other]);
        if (step % 40 === 0) for (const follower of followers) await follower.follow();
      } catch (error) {
        throw new Error(`WALK_SEED=${SEED + run} step ${step}, ${JSON.stringify(sent)}`, { cause: error });
      }
    }
    expect(await findDrift(service, ...pair)).toEqual([]);
    for (const follower of followers) await follower.compare();
  }
  const never = WRITES.filter((name) => !succeeded.has(name));
  expect(never.length, `never successful: ${never}`).toBeLessThan(WRITES.length / 5);
});
