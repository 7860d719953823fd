import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Agency } from '../../test/support/service.ts';
import { UnsettledListError } from '../src/index.ts';
import { useClient } from './start.ts';

const { service, start } = useClient();

type Write = { kind: 'create' | 'edit' | 'archive'; at: number };

/** The rows that the list shows now, by id, as the table holds them. */
async function held({ id }: Agency): Promise<Map<string, string>> {
  const rows = await service.query<{ id: string; title: string }>(
    'select id, title from products where organization_id = $1 and archived_at is null',
    [id],
  );
  return new Map(rows.map((row) => [row.id, row.title]));
}

const offsetOf = (url: unknown) => new URL(String(url)).searchParams.get('offset');

describe('a snapshot with writers beside it', () => {
  test('is what the table held when its last walk began, each row as it was at some time of that walk', async () => {
    const writes = fc.array(
      fc.record({
        kind: fc.constantFrom('create', 'edit', 'archive'),
        at: fc.nat(1_000),
      }) as fc.Arbitrary<Write>,
      { maxLength: 3 },
    );
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 12 }),
        fc.array(writes, { minLength: 5, maxLength: 25 }),
        async (size, between) => {
          const title = (number: number) => `Product ${number}`;
          let made = 0;
          const create = () => agency.post('/v1/catalog/products', { title: title(made++) });
          const apply = async ({ kind, at }: Write) => {
            const ids = [...(await held(agency)).keys()].sort();
            const id = ids[at % Math.max(1, ids.length)];
            if (kind === 'create') await create();
            else if (id !== undefined && kind === 'edit')
              await agency.patch(`/v1/catalog/products/${id}`, { title: title(made++) });
            else if (id !== undefined) await agency.delete(`/v1/catalog/products/${id}`);
          };
          /** What the table held before each page of the walk now under way. */
          let walk: Map<string, string>[] = [];
          const rounds = between.values();
          const { agency, crm } = await start({
            fetch: async (url, init) => {
              for (const write of rounds.next().value ?? []) await apply(write);
              if (offsetOf(url) === '0') walk = [];
              walk.push(await held(agency));
              return fetch(url, init);
            },
          });
          while (made < size) await create();
          const rows = await crm.products.snapshot({ limit: 3 }, { passes: 1_000 });
          const [first] = walk;
          expect(rows.map(({ id }) => id).sort()).toEqual([...(first?.keys() ?? [])].sort());
          for (const { id, title } of rows) expect(walk.map((table) => table.get(id))).toContain(title);
        },
      ),
      { numRuns: 12 },
    );
  });

  test('gives up when the list changes during each of its walks', async () => {
    let pages = 0;
    const { agency, crm } = await start({
      fetch: async (url, init) => {
        pages += 1;
        await agency.post('/v1/catalog/products', { title: 'More' });
        return fetch(url, init);
      },
    });
    for (const title of ['One', 'Two', 'Three']) await agency.post('/v1/catalog/products', { title });
    await expect(crm.products.snapshot({ limit: 1 }, { passes: 4 })).rejects.toThrow(UnsettledListError);
    expect(pages).toBe(8);
  });
});
