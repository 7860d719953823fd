import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { newId } from '../../src/db/index.ts';
import { ownDashboard } from '../../test/support/dashboard.ts';
import { UnsettledListError } from '../src/index.ts';
import { useClient } from './start.ts';

const { service, start } = await useClient();
async function storedTitles(organizationId: string): Promise<Map<string, string>> {
  const active = 'select id, title from products where organization_id = $1 and archived_at is null';
  const rows = await service.query<{ id: string; title: string }>(active, [organizationId]);
  return new Map(rows.map(({ id, title }) => [id, title]));
}

describe('a snapshot during concurrent writes', () => {
  test('has the rows that were stored when its last walk began, each as it was at some time of that walk', async () => {
    const write = fc.record({ kind: fc.constantFrom('create', 'update', 'archive'), row: fc.nat(1_000) });
    const writes = fc.array(write, { maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 12 }),
        fc.array(writes, { minLength: 5, maxLength: 25 }),
        async (size, writesBeforeRequests) => {
          const rounds = writesBeforeRequests.values();
          let titles = 0;
          const newTitle = () => ({ title: `Product ${titles++}` });
          const apply = async ({ kind, row }: { kind: string; row: number }) => {
            if (kind === 'create') return agency.post('/v1/catalog/products', newTitle());
            const ids = [...(await storedTitles(agency.id)).keys()].sort();
            const path = `/v1/catalog/products/${ids[row % ids.length]}`;
            return kind === 'update' ? agency.patch(path, newTitle()) : agency.delete(path);
          };
          /** The stored rows before each page of the current walk. */
          let walk: Map<string, string>[] = [];
          const { agency, crm } = await start({
            fetch: async (url, init) => {
              for (const one of rounds.next().value ?? []) await apply(one);
              if (String(url).includes('offset=0')) walk = [];
              walk.push(await storedTitles(agency.id));
              return fetch(url, init);
            },
          });
          for (let count = 0; count < size; count += 1) await apply({ kind: 'create', row: 0 });
          const rows = await crm.products.snapshot({ limit: 3 }, { passes: 1_000 });
          expect(rows.map(({ id }) => id).sort()).toEqual([...(walk[0]?.keys() ?? [])].sort());
          for (const { id, title } of rows) expect(walk.map((stored) => stored.get(id))).toContain(title);
        },
      ),
      { numRuns: 12 },
    );
  });

  test('misses no member of the team, where new rows come last', async () => {
    const dashboard = await ownDashboard(service);
    const ids = [newId(), newId(), newId(), newId(), newId()];
    const add = (id?: string) =>
      team.put(`/team-members/${id}`, { userId: id, name: 'Ana', email: 'a@example.com' });
    let pages = 0;
    const { agency, crm } = await start({
      fetch: async (url, init) => {
        pages += 1;
        if (pages === 2) await Promise.all([team.delete(`/team-members/${ids[0]}`), add(ids[4])]);
        return fetch(url, init);
      },
    });
    const team = dashboard.of(agency);
    for (const id of ids.slice(0, 4)) await add(id);
    const rows = await crm.team.snapshot({ limit: 2 });
    expect(rows.map(({ id }) => id)).toEqual(ids.slice(1));
  });

  test('fails when the list changes during each of its walks', async () => {
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
