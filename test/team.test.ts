import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { useDashboard } from './support/dashboard.ts';

const { service, dashboard } = useDashboard();

test('a team member as the dashboard writes them and an integration reads them, until they leave', async () => {
  const agency = await service.agency();
  const other = await service.agency();
  const { put, patch, delete: archive } = dashboard.of(agency);
  const id = randomUUID();
  const url = `/team-members/${id}`;

  const written = await put(url, { userId: 'user_81', name: 'Lucía Ríos', email: 'lucia@example.com' });
  const lucia = {
    id,
    userId: 'user_81',
    name: 'Lucía Ríos',
    email: 'lucia@example.com',
    roles: [],
    isAssignable: true,
    createdAt: expect.any(String),
  };
  expect(written.status).toBe(201);
  expect(written.body).toEqual(lucia);
  expect((await agency.get('/v1/team')).body).toEqual({
    data: [lucia],
    pagination: { limit: 25, offset: 0, total: 1 },
  });

  // A PATCH changes one field; one that is required cannot be cleared.
  await patch(url, { roles: ['owner', 'billing'] });
  expect(await patch(url, { name: null })).toMatchObject({
    status: 400,
    body: { error: { code: 'VALIDATION_FAILED', details: [{ path: 'body.name' }] } },
  });
  const owner = { ...written.body, roles: ['owner', 'billing'] };

  // The oldest members come first.
  const second = { userId: 'user_82', name: 'Iván Soto', email: 'ivan@example.com', isAssignable: false };
  const ivan = (await put(`/team-members/${randomUUID()}`, second)).body;
  const team = async (query = '') => (await agency.get(`/v1/team${query}`)).body;
  expect((await team()).data).toEqual([owner, ivan]);
  expect(await team('?limit=1&offset=1')).toEqual({
    data: [ivan],
    pagination: { limit: 1, offset: 1, total: 2 },
  });

  // Another organization sees nobody.
  expect((await other.get('/v1/team')).body).toMatchObject({ data: [], pagination: { total: 0 } });
  expect((await dashboard.of(other).patch(url, { name: 'x' })).status).toBe(404);

  // Who has left is in no list, and still the seller of what they sold.
  const sale = randomUUID();
  await put(`/opportunities/${sale}`, { salesStage: 'won', sellerMemberId: id });
  expect(await archive(url)).toMatchObject({ status: 200, body: { id, archivedAt: expect.any(String) } });
  expect((await archive(url)).status).toBe(404);
  expect((await team()).data).toEqual([ivan]);
  expect((await agency.get(`/v1/opportunities/${sale}`)).body).toMatchObject({
    sellerMemberId: id,
    sellerName: 'Lucía Ríos',
  });
});
