import fc from 'fast-check';
import { beforeEach, describe, expect, inject, test } from 'vitest';
import { purgeCatalogProducts } from '../src/catalog/repository.ts';
import { restoreCatalogProduct, updateCatalogProductMedia } from '../src/catalog/repository.ts';
import { newId } from '../src/db/sql/ids.ts';
import { createLogger } from '../src/http/logging.ts';
import { customerCopies, keepCopies, productCopies } from '../src/jobs/keep-copies.ts';
import { type Agency, useService } from './support/service.ts';

/** Read rows and search rows, whatever wrote the records: no list, GET or search shows a record otherwise than it is. */

const isCluster = inject('workerUrls').length > 0;
const service = useService();
const silent = createLogger('silent');
const FIRST = '00000000-0000-0000-0000-000000000000';
const PRODUCTS = '/v1/catalog/products';
const CUSTOMERS = '/v1/customers';

const contact = (value = newId()) => ({ identifierType: 'web', identifierValue: value });

/** The records that a read shows otherwise than they are, and those whose rows are to be made anew. */
async function found({ scope }: Agency) {
  const all = async (kind: 'wrong' | 'stale') =>
    (
      await Promise.all([productCopies, customerCopies].map((copies) => copies[kind](scope, FIRST, 1_000)))
    ).flatMap((batch) => batch.found.map(({ id }) => id));
  return { wrong: await all('wrong'), stale: await all('stale') };
}

const NOTHING = { wrong: [], stale: [] };

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

/** Leaves the read rows as a release of another rendering makes them: their bodies are rendered while reading. */
const forget = async ({ id }: Agency): Promise<void> => {
  for (const table of ['product_bodies', 'customer_bodies'])
    await service.query(
      `update ${table} set rendering = rendering + 1, body = '{"of":"another release"}' where organization_id = $1`,
      [id],
    );
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

test('no sequence of writes leaves a record that a read shows otherwise than it is', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (sequence) => {
      const agency = await service.agency();
      await run(agency, sequence);
      expect(await found(agency)).toEqual(NOTHING);
      const kept = await read(agency);
      await forget(agency);
      expect(await read(agency)).toEqual(kept);
    }),
    { numRuns: 15 },
  );
});

test('a PATCH that waited behind a change of the contacts answers what the next GET answers, tag included', async () => {
  const agency = await service.agency();
  const { body } = await agency.post(CUSTOMERS, { contacts: [contact()] });
  for (let round = 0; round < 10; round += 1) {
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, n) =>
        agency.patch(
          `${CUSTOMERS}/${body.id}`,
          n % 2 ? { city: `${round} ${n}` } : { contacts: [contact()] },
        ),
      ),
    );
    expect(await found(agency)).toEqual(NOTHING);
    // Whoever wrote last has the record as it stays, and no two answers of one version differ.
    const last = answers.toSorted((a, b) => (a.body.updatedAt < b.body.updatedAt ? 1 : -1))[0];
    const read = await agency.get(`${CUSTOMERS}/${body.id}`);
    expect(read.text).toBe(last?.text);
    expect(read.headers.etag).toBe(last?.headers.etag);
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
    expect(await found(agency)).toEqual(NOTHING);
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
    await forget(agency);
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
    for: (id: string) => ({ ...service.db.for(id), ...(id === failing.id && { writeTogether: slow }) }),
  };
  await expect(keepCopies({ db, logger })).rejects.toThrow('The copies of 1 organizations failed');
  expect(lines).toMatchObject([{ organizationId: failing.id, err: { message: 'too slow' } }]);
  expect((await found(failing)).stale).toHaveLength(1);
  expect(await found(other)).toEqual(NOTHING);
  await keepCopies({ db: service.db, logger });
  expect(await found(failing)).toEqual(NOTHING);
});

// A cluster has no triggers: there the release before is stopped first.
describe.skipIf(isCluster)(
  'an instance of the release before, which knows neither lists over read rows nor their filters',
  () => {
    const inAgency = async () => {
      const agency = await service.agency();
      const { body } = await agency.post(PRODUCTS, { title: 'Oaxaca', status: 'active' });
      return { agency, id: body.id as string };
    };
    const listed = async (agency: Agency, query = '') =>
      (await agency.get(`${PRODUCTS}${query}`)).body.data.map(({ title }: { title: string }) => title);

    test('changes a record: every read shows the change', async () => {
      const { agency, id } = await inAgency();
      await service.query(
        `update products set title = 'Puebla', status = 'paused', updated_at = now() + interval '1 second' where id = $1`,
        [id],
      );
      expect((await agency.get(`${PRODUCTS}/${id}`)).body.title).toBe('Puebla');
      expect(await listed(agency)).toEqual(['Puebla']);
      expect(await listed(agency, '?status=paused')).toEqual(['Puebla']);
      expect(await listed(agency, '?status=active')).toEqual([]);
    });

    test('creates a record, with a body or without: every read shows it', async () => {
      const agency = await service.agency();
      const [bare, kept] = [newId(), newId()];
      const insert = `insert into products (organization_id, id, title, type, status, pricing_mode, updated_at)
      values ($1, $2, $3, 'package', 'active', 'per_person', now() + $4::interval)`;
      await service.query(insert, [agency.id, bare, 'Bare', '1 second']);
      await service.query(
        `with made as (${insert} returning *) insert into product_bodies (organization_id, id, updated_at, rendering, body)
      select organization_id, id, updated_at, 1, '{}' from made`,
        [agency.id, kept, 'Kept', '2 seconds'],
      );
      expect(await listed(agency)).toEqual(['Kept', 'Bare']);
      expect(await listed(agency, '?status=active')).toEqual(['Kept', 'Bare']);
    });

    test('archives a record and restores it: it leaves every read, and comes back', async () => {
      const { agency, id } = await inAgency();
      await service.query('update products set archived_at = now() where id = $1', [id]);
      expect((await agency.get(`${PRODUCTS}/${id}`)).status).toBe(404);
      expect(await listed(agency)).toEqual([]);
      await service.query('update products set archived_at = null where id = $1', [id]);
      expect((await agency.get(`${PRODUCTS}/${id}`)).status).toBe(200);
      expect(await listed(agency, '?status=active')).toEqual(['Oaxaca']);
    });
  },
);

describe('npm run recount', () => {
  const compare = async (fix: boolean) =>
    (await keepCopies({ db: service.db, logger: silent, find: 'wrong', fix })).records;
  // The tests before have left some.
  beforeEach(() => compare(true));

  test('finds a body that is wrong, and with --fix makes it anew', async () => {
    const agency = await service.agency();
    const { body } = await agency.post(PRODUCTS, { title: 'Oaxaca' });
    await service.query(`update product_bodies set body = '{}' where id = $1`, [body.id]);
    expect(await compare(false)).toBe(1);
    expect(await compare(true)).toBe(1);
    expect((await agency.get(`${PRODUCTS}/${body.id}`)).body).toEqual(body);
    expect(await compare(true)).toBe(0);
  });

  test('finds rows that are missing, left over or of another text, and with --fix mends them', async () => {
    const agency = await service.agency();
    const titles = ['Oaxaca', 'Puebla', 'Colima', 'Durango'];
    const [changed, unsearched, unlisted, archived] = await Promise.all(
      titles.map(async (title) => (await agency.post(PRODUCTS, { title })).body.id as string),
    );
    const totals = async () => [
      (await agency.get(PRODUCTS)).body.data.length as number,
      ...(await Promise.all(
        titles.map(
          async (title) => (await agency.get(`${PRODUCTS}?query=${title}`)).body.pagination.total as number,
        ),
      )),
    ];
    // By hand, beside every rule.
    if (!isCluster) await service.query('alter table products disable trigger products_keep_row');
    await service.query(
      `update products set title = 'Sonora', updated_at = now() + interval '1 second' where id = $1`,
      [changed],
    );
    await service.query('delete from searchable_products where id = $1', [unsearched]);
    await service.query('delete from product_bodies where id = $1', [unlisted]);
    await service.query('update products set archived_at = now() where id = $1', [archived]);
    if (!isCluster) await service.query('alter table products enable trigger products_keep_row');
    expect(await totals()).toEqual([3, 1, 0, 0, 1]);
    expect(await compare(false)).toBe(4);
    expect(await compare(true)).toBe(4);
    expect(await totals()).toEqual([3, 0, 1, 1, 0]);
    expect(await compare(true)).toBe(0);
  });
});
