import { describe, expect, test } from 'vitest';
import { archiveTeamMember } from '../src/dashboard/team-members/repository.ts';
import { member } from './support/records.ts';
import { useService } from './support/service.ts';

const service = useService();

describe('listTeamMembers', () => {
  test('shows every field of every member', async () => {
    const agency = await service.agency();
    const fields = {
      userId: 'usr_1042',
      name: 'Lucía Romero',
      email: 'Lucía@example.com',
      roles: ['owner', 'sales', 'sales'],
      isAssignable: false,
    };
    const { id } = await member(agency, fields);
    const { status, body } = await agency.get('/v1/team');
    expect(status).toBe(200);
    expect(body).toEqual({
      data: [{ id, ...fields, createdAt: expect.any(String) }],
      pagination: { limit: 25, offset: 0, total: 1 },
    });
  });

  test('a member has no roles and is assignable unless told otherwise', async () => {
    const agency = await service.agency();
    await member(agency);
    expect((await agency.get('/v1/team')).body.data[0]).toMatchObject({ roles: [], isAssignable: true });
  });

  test('shows those who joined first first, and of one moment the lowest id first', async () => {
    const agency = await service.agency();
    const ids: string[] = [];
    for (const name of ['c', 'a', 'b']) ids.push((await member(agency, { name })).id);
    await service.query(`update team_members set created_at = '2026-01-01' where id = any($1)`, [
      ids.slice(1),
    ]);
    const { body } = await agency.get('/v1/team');
    expect(body.data.map(({ name }: { name: string }) => name)).toEqual(['a', 'b', 'c']);
  });

  test('a member that is changed keeps its place; one that left is not listed', async () => {
    const agency = await service.agency();
    const [first, second, third] = [await member(agency), await member(agency), await member(agency)];
    await member(agency, { name: 'Otro' }, first.id);
    await archiveTeamMember(agency.scope, second.id);
    const { body } = await agency.get('/v1/team');
    expect(body.data.map(({ id }: { id: string }) => id)).toEqual([first.id, third.id]);
    expect(body.data[0].name).toBe('Otro');
    expect(body.pagination.total).toBe(2);
  });

  test('has no filters', async () => {
    const agency = await service.agency();
    await member(agency);
    const { body, headers } = await agency.get('/v1/team?query=nobody');
    expect(body.data).toHaveLength(1);
    expect(headers['x-ignored-parameters']).toBe('query');
  });
});
