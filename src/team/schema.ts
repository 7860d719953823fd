import { z } from 'zod';
import { EMAIL_RULE, isEmailAddress } from '../../rules/contact-key.ts';
import {
  archivedAt,
  archivedFilter,
  createdOnce,
  dateTime,
  field,
  id,
  patchOf,
  recordQuery,
  text,
  textFilter,
  texts,
} from '../contract/fields.ts';

export const TeamMember = z
  .object({
    id: field(id(), 'Opaque, immutable identifier. `sellerMemberId` of an opportunity refers to it.'),
    userId: field(z.string(), 'The id of the user account of the member.', 'usr_1042'),
    name: field(z.string(), 'First and last name.', 'Lucía Romero'),
    email: field(z.string(), 'The email address at work.', 'lucia@example.com'),
    roles: field(z.array(z.string()), 'One base role and optional additional roles.', ['owner']),
    isAssignable: field(
      z.boolean(),
      'Whether the member takes part in automatic assignment of opportunities.',
    ),
    createdAt: field(
      dateTime(),
      'When the record of the member was created. The list has this order, oldest first.',
    ),
  })
  .meta({ id: 'TeamMember' });

export const TeamMemberListQuery = z.object(recordQuery());

/** The schemas below belong to the dashboard API only. */

export const TeamMemberRecord = TeamMember.extend({ archivedAt: archivedAt() }).meta({
  id: 'TeamMemberRecord',
});

export const TeamMemberRecordListQuery = TeamMemberListQuery.extend({
  userId: textFilter('The member of this account.', 255),
  archived: archivedFilter(),
});

export const TeamMemberPut = z
  .object({
    userId: text({ min: 1, max: 255 }).describe(
      "The id of the person's account, which can belong to several organizations, and to one active member in each.",
    ),
    name: text({ min: 1, max: 255 }),
    email: text({ max: 320 }).refine(isEmailAddress, EMAIL_RULE),
    roles: texts().default([]).describe('One base role and optional additional roles.'),
    isAssignable: z
      .boolean()
      .default(true)
      .describe('Whether the member takes part in automatic assignment of opportunities.'),
    createdAt: createdOnce(),
  })
  .meta({
    id: 'TeamMemberPut',
    examples: [{ userId: 'user_81', name: 'Lucía Ríos', email: 'lucia@example.com', roles: ['owner'] }],
  });
export type TeamMemberPut = z.infer<typeof TeamMemberPut>;

export const TeamMemberUpdate = patchOf(TeamMemberPut).meta({
  id: 'TeamMemberUpdate',
  examples: [{ isAssignable: false }],
});
