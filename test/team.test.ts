import { describe, expect, test } from 'vitest';
import { teamMemberRecord } from '../src/team/repository.ts';
import { member } from './support/records.ts';
import { useService } from './support/service.ts';

const service = useService();

describe('listTeamMembers', () => {
  test('a member that is changed keeps its place; one that left is not listed', async () => {
    const agency = await service.agency();
    const [first, second, third] = [await member(agency), await member(agency), await member(agency)];
    await member(agency, { name: 'Otro' }, first.id);
    await teamMemberRecord.archive(agency.scope, second.id);
    const { body } = await agency.get('/v1/team');
    expect(body.data.map(({ id }: { id: string }) => id)).toEqual([first.id, third.id]);
    expect(body.data[0].name).toBe('Otro');
    expect(body.pagination.total).toBe(2);
  });
});
