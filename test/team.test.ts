import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { useDashboard } from './support/dashboard.ts';
import { rejected } from './support/faults.ts';
import { member, opportunity } from './support/records.ts';

const { service, dashboard } = useDashboard();

test('the story of a team member: the dashboard writes them, an integration lists them, until they leave', async () => {
  const agency = await service.agency();
  // Paths of the dashboard, below /dashboard/v1/organizations/{organizationId}.
  const { put, patch, delete: archive } = dashboard.of(agency);

  // Create. A field that is not sent has its default.
  const id = randomUUID();
  const lucia = { userId: 'user_81', name: 'Lucía Ríos', email: 'lucia@example.com' };
  const created = await put(`/team-members/${id}`, lucia);
  expect(created.status).toBe(201);
  const preset = { roles: [], isAssignable: true, createdAt: expect.any(String) };
  expect(created.body).toMatchObject({ id, ...lucia, ...preset });

  // PATCH changes one field, and leaves the rest as it is. A required field cannot be cleared.
  const changed = await patch(`/team-members/${id}`, { roles: ['owner', 'billing'] });
  expect(changed.status).toBe(200);
  expect(changed.body).toEqual({ ...created.body, roles: ['owner', 'billing'] });
  expect(await patch(`/team-members/${id}`, { name: null })).toMatchObject(rejected('body.name'));

  // List: oldest members first.
  const ivan = await member(agency, { name: 'Iván Soto' });
  const { archivedAt: _, ...lucy } = changed.body;
  expect((await agency.get('/v1/team')).body).toEqual({
    data: [lucy, ivan],
    pagination: { limit: 25, offset: 0, total: 2 },
  });

  // Archive: a member who has left is in no list, and remains the seller of their opportunities.
  const sale = await opportunity(agency, { salesStage: 'won', sellerMemberId: id });
  const archived = { status: 200, body: { id, archivedAt: expect.any(String) } };
  expect(await archive(`/team-members/${id}`)).toMatchObject(archived);
  expect((await agency.get('/v1/team')).body).toMatchObject({ data: [ivan], pagination: { total: 1 } });
  expect((await agency.get(`/v1/opportunities/${sale.id}`)).body).toMatchObject({
    sellerMemberId: id,
    sellerName: 'Lucía Ríos',
  });
});
