import { z } from 'zod';
import { dateTime, id, page, recordQuery, shown } from '../fields.ts';

export const TeamMember = z
  .object({
    id: shown(id(), 'Never changes; `sellerMemberId` of an opportunity refers to it.'),
    userId: shown(z.string(), 'The id of the user behind the member, in the system of users.', 'usr_1042'),
    name: shown(z.string(), 'First and last name, as colleagues see it.', 'Lucía Romero'),
    email: shown(z.string(), 'The address that the member works with.', 'lucia@example.com'),
    roles: shown(z.array(z.string()), 'One base role and optional add-ons.', ['owner']),
    isAssignable: shown(
      z.boolean(),
      'Whether the member takes part in automatic assignment of opportunities.',
    ),
    createdAt: shown(dateTime(), 'When the member joined; the list is in this order, the oldest first.'),
  })
  .meta({ id: 'TeamMember' });
export type TeamMember = z.infer<typeof TeamMember>;

export const TeamMemberList = page(TeamMember).meta({ id: 'TeamMemberList' });

export const TeamMemberListQuery = z.object(recordQuery());
