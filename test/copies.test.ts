import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { productKeepers, purgeCatalogProducts } from '../src/catalog/repository.ts';
import { customerKeepers } from '../src/customers/repository.ts';
import { restoreCatalogProduct, updateCatalogProductMedia } from '../src/dashboard/products/repository.ts';
import { newId } from '../src/db/ids.ts';
import type { Keeper } from '../src/db/keeper.ts';
import { createLogger } from '../src/http/logging.ts';
import { compareCopies, keepCopies } from '../src/jobs/keep-copies.ts';
import { type Agency, useService } from './support/service.ts';

/**
 * What is kept beside records, whatever wrote them: bodies are never other than what rendering gives, and searches see every
 * record as it is.
 */

const service = useService();
const silent = createLogger('silent');
const FIRST = '00000000-0000-0000-0000-000000000000';
const PRODUCTS = '/v1/catalog/products';
const CUSTOMERS = '/v1/customers';

const contact = (value = newId()) => ({ identifierType: 'web', identifierValue: value });

/**
 * Of records whose body counts, those where it is wrong; those that would be rendered while reading; and those that searches
 * do not see as they are.
 */
async function found({ scope }: Agency) {
  const all = async (looks: readonly Keeper['stale'][]) =>
    (await Promise.all(looks.map((look) => look(scope, FIRST, 1_000)))).flatMap(({ ids }) => ids);
  const keepers = [productKeepers, customerKeepers];
  return {
    wrong: await all(keepers.map(({ bodies }) => bodies.wrong)),
    stale: await all(keepers.map(({ bodies }) => bodies.stale)),
    unsearchable: await all(keepers.map(({ searchable }) => searchable.wrong)),
  };
}

const NOTHING = { wrong: [], stale: [], unsearchable: [] };

/** Everything that the agency reads of both resources. */
const read = async (agency: Agency): Promise<string[]> => {
  const texts: string[] = [];
  for (const path of [PRODUCTS, CUSTOMERS]) {
    const list = await agency.get(`${path}?limit=100`);
    texts.push(list.text);
    for (const { id } of list.body.data) texts.push((await agency.get(`${path}/${id}`)).text);
  }
  return texts;
};

const forget = async ({ id }: Agency): Promise<void> => {
  await service.query('delete from product_bodies where organization_id = $1', [id]);
  await service.query('delete from customer_bodies where organization_id = $1', [id]);
};

type Step = { kind: number; which: number; value: string };
const steps = fc.array(
  fc.record({ kind: fc.nat(12), which: fc.nat(3), value: fc.string({ unit: 'grapheme', maxLength: 20 }) }),
  { minLength: 5, maxLength: 25 },
);

async function run(agency: Agency, sequence: readonly Step[]): Promise<void> {
  const products = await Promise.all(
    [0, 1, 2, 3].map(
      async (n) => (await agency.post(PRODUCTS, { title: `P${n}`, variants: [{ label: 'x' }] })).body.id,
    ),
  );
  const customers = await Promise.all(
    [0, 1, 2, 3].map(async () => (await agency.post(CUSTOMERS, { contacts: [contact()] })).body.id),
  );
  const { scope } = agency;
  for (const { kind, which, value } of sequence) {
    const text = value.replaceAll('\u0000', '');
    const [product, customer] = [products[which] ?? '', customers[which] ?? ''];
    const writes = [
      () => agency.patch(`${PRODUCTS}/${product}`, { description: text }),
      () => agency.patch(`${PRODUCTS}/${product}`, {}),
      () => updateCatalogProductMedia(scope, product, { destinations: [text] }).catch(() => undefined),
      () => agency.delete(`${PRODUCTS}/${product}`),
      () => restoreCatalogProduct(scope, product, Date.now()).catch(() => undefined),
      () => agency.patch(`${CUSTOMERS}/${customer}`, { city: text }),
      () => agency.patch(`${CUSTOMERS}/${customer}`, { contacts: [contact(), contact()] }),
      () => agency.delete(`${CUSTOMERS}/${customer}`),
      () => purgeCatalogProducts(service.db, new Date(Date.now() + 60_000).toISOString(), 1),
      () =>
        Promise.all([
          agency.patch(`${CUSTOMERS}/${customer}`, { contacts: [contact()] }),
          agency.patch(`${CUSTOMERS}/${customer}`, { summary: text }),
          agency.patch(`${CUSTOMERS}/${customer}`, { contacts: [contact()], city: text }),
        ]),
      () => agency.patch(`${CUSTOMERS}/${customer}`, { tags: [text], firstName: text || null }),
      () => agency.patch(`${PRODUCTS}/${product}`, { status: 'paused', externalReferenceCode: text }),
      () =>
        Promise.all(
          ['a', 'b', text].flatMap((title) => [
            agency.patch(`${PRODUCTS}/${product}`, { title: title || 'c' }),
            agency.delete(`${PRODUCTS}/${product}`),
            restoreCatalogProduct(scope, product, Date.now()).catch(() => undefined),
          ]),
        ),
    ];
    await writes[kind]?.();
  }
}

test('no sequence of writes leaves a body that is not what rendering gives, or a record that searches see otherwise', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (sequence) => {
      const agency = await service.agency();
      await run(agency, sequence);
      expect(await found(agency)).toMatchObject({ wrong: [], unsearchable: [] });
      const kept = await read(agency);
      await forget(agency);
      expect(await read(agency)).toEqual(kept);
    }),
    { numRuns: 25 },
  );
});

test('a PATCH that waited behind a change of the contacts keeps no body with the old ones', async () => {
  const agency = await service.agency();
  const { body } = await agency.post(CUSTOMERS, { contacts: [contact()] });
  for (let round = 0; round < 10; round += 1) {
    await Promise.all(
      Array.from({ length: 8 }, (_, n) =>
        agency.patch(
          `${CUSTOMERS}/${body.id}`,
          n % 2 ? { city: `${round} ${n}` } : { contacts: [contact()] },
        ),
      ),
    );
    expect((await found(agency)).wrong).toEqual([]);
  }
});

test('a title that two clients change to and fro at once is found as it is in the end', async () => {
  const agency = await service.agency();
  const { body } = await agency.post(PRODUCTS, { title: 'a' });
  for (let round = 0; round < 20; round += 1) {
    await Promise.all(
      Array.from({ length: 8 }, (_, n) =>
        agency.patch(`${PRODUCTS}/${body.id}`, { title: n % 2 ? 'a' : 'b' }),
      ),
    );
    expect((await found(agency)).unsearchable).toEqual([]);
  }
});

describe('what searches see is written', () => {
  const version = async (table: string, id: string) =>
    (await service.query(`select xmin::text as version from ${table} where id = $1`, [id]))[0]?.version;

  test.each([
    ['only with what they look at', { title: 'Puebla' }, { operator: 'Andes' }],
    ['not when a field is sent as it is', { status: 'paused' }, { title: 'Oaxaca', status: 'active' }],
  ])('of a product %s', async (_name, seen, unseen) => {
    const agency = await service.agency();
    const { body } = await agency.post(PRODUCTS, { title: 'Oaxaca', status: 'active' });
    const before = await version('searchable_products', body.id);
    expect((await agency.patch(`${PRODUCTS}/${body.id}`, unseen)).status).toBe(200);
    expect(await version('searchable_products', body.id)).toBe(before);
    expect((await agency.patch(`${PRODUCTS}/${body.id}`, seen)).status).toBe(200);
    expect(await version('searchable_products', body.id)).not.toBe(before);
  });

  test.each([
    ['only with what they look at', { lastName: 'Peña' }, { city: 'Lima' }],
    [
      'not when contacts are sent as they are',
      { tags: ['vip'] },
      { contacts: [contact('same')], city: 'Lima' },
    ],
  ])('of a customer %s', async (_name, seen, unseen) => {
    const agency = await service.agency();
    const { body } = await agency.post(CUSTOMERS, { contacts: [contact('same')] });
    const before = await version('searchable_customers', body.id);
    expect((await agency.patch(`${CUSTOMERS}/${body.id}`, unseen)).status).toBe(200);
    expect(await version('searchable_customers', body.id)).toBe(before);
    expect((await agency.patch(`${CUSTOMERS}/${body.id}`, seen)).status).toBe(200);
    expect(await version('searchable_customers', body.id)).not.toBe(before);
  });
});

describe('a release that changes fields', () => {
  const agencyWithOldBodies = async () => {
    const agency = await service.agency();
    for (let n = 0; n < 5; n += 1) {
      await agency.post(PRODUCTS, { title: `P${n}` });
      await agency.post(CUSTOMERS, { firstName: `C${n}`, contacts: [contact()] });
    }
    const before = await read(agency);
    for (const table of ['product_bodies', 'customer_bodies'])
      await service.query(
        `update ${table} set rendering = rendering + 1, body = '{"of":"another release"}' where organization_id = $1`,
        [agency.id],
      );
    return { agency, before };
  };

  test('shows no body of another release: it is rendered while reading, listed and patched', async () => {
    const { agency, before } = await agencyWithOldBodies();
    expect(await read(agency)).toEqual(before);
    expect((await found(agency)).stale).toHaveLength(10);
    const [{ id }] = (await agency.get(PRODUCTS)).body.data;
    const patched = await agency.patch(`${PRODUCTS}/${id}`, { operator: 'Andes' });
    expect(patched.body.operator).toBe('Andes');
    expect((await agency.get(`${PRODUCTS}/${id}`)).text).toBe(patched.text);
    expect((await found(agency)).stale).toHaveLength(9);
  });

  test('is over when the job has been over the records, in batches, and a stopped one goes on', async () => {
    const { agency, before } = await agencyWithOldBodies();
    const stopped = new AbortController();
    stopped.abort();
    await keepCopies({ db: service.db, logger: silent, signal: stopped.signal });
    expect((await found(agency)).stale).toHaveLength(10);
    await keepCopies({ db: service.db, logger: silent, batchSize: 2 });
    expect(await found(agency)).toEqual(NOTHING);
    expect(await read(agency)).toEqual(before);
  });
});

test('an organization whose batch fails is told, and the job goes on with those after it', async () => {
  const [failing, other] = [await service.agency(), await service.agency()];
  for (const agency of [failing, other]) await agency.post(PRODUCTS, { title: 'Oaxaca' });
  await forget(failing);
  await forget(other);
  const lines: object[] = [];
  const logger = createLogger('error', { write: (line) => lines.push(JSON.parse(line)) });
  const slow = async () => {
    throw new Error('too slow');
  };
  const db = {
    ...service.db,
    for: (id: string) => ({ ...service.db.for(id), ...(id === failing.id && { transaction: slow }) }),
  };
  await expect(keepCopies({ db, logger })).rejects.toThrow('The copies of 1 organizations failed');
  expect(lines).toMatchObject([
    { organizationId: failing.id, copies: 'bodies', err: { message: 'too slow' } },
  ]);
  expect((await found(failing)).stale).toHaveLength(1);
  expect(await found(other)).toEqual(NOTHING);
  await keepCopies({ db: service.db, logger });
  expect(await found(failing)).toEqual(NOTHING);
});

test('a body of an older version of the record does not count', async () => {
  const agency = await service.agency();
  const { body } = await agency.post(PRODUCTS, { title: 'Oaxaca' });
  // As a release writes that knows nothing of bodies.
  await service.query(
    `update products set title = 'Puebla', updated_at = now() + interval '1 second' where id = $1`,
    [body.id],
  );
  expect((await agency.get(`${PRODUCTS}/${body.id}`)).body.title).toBe('Puebla');
  expect((await agency.get(PRODUCTS)).body.data[0].title).toBe('Puebla');
});

describe('npm run recount', () => {
  const compare = (fix: boolean) => compareCopies({ db: service.db, logger: silent, fix });
  // The tests before have left some.
  beforeEach(() => compare(true));

  test('finds a body that is wrong, and with --fix makes it anew', async () => {
    const agency = await service.agency();
    const { body } = await agency.post(PRODUCTS, { title: 'Oaxaca' });
    await service.query(`update product_bodies set body = '{}' where id = $1`, [body.id]);
    const wrong = { bodies: 1, searchable: 0 };
    expect(await compare(false)).toEqual(wrong);
    expect(await compare(true)).toEqual(wrong);
    expect((await agency.get(`${PRODUCTS}/${body.id}`)).body).toEqual(body);
    expect(await compare(true)).toEqual({ bodies: 0, searchable: 0 });
  });

  test('finds what searches see otherwise than it is, and with --fix mends it', async () => {
    const agency = await service.agency();
    const titles = ['Oaxaca', 'Puebla', 'Colima', 'Durango'];
    const [changed, missing, archived] = await Promise.all(
      titles.map(async (title) => (await agency.post(PRODUCTS, { title })).body.id as string),
    );
    const totals = () =>
      Promise.all(
        titles.map(
          async (title) => (await agency.get(`${PRODUCTS}?query=${title}`)).body.pagination.total as number,
        ),
      );
    // As a release writes that knows nothing of them.
    await service.query(
      `update products set title = 'Sonora', updated_at = now() + interval '1 second' where id = $1`,
      [changed],
    );
    await service.query('delete from searchable_products where id = $1', [missing]);
    await service.query('update products set archived_at = now() where id = $1', [archived]);
    expect(await totals()).toEqual([1, 0, 1, 1]);
    expect(await compare(false)).toEqual({ bodies: 0, searchable: 3 });
    expect(await compare(true)).toEqual({ bodies: 0, searchable: 3 });
    expect(await totals()).toEqual([0, 1, 0, 1]);
    expect(await compare(true)).toEqual({ bodies: 0, searchable: 0 });
  });
});
