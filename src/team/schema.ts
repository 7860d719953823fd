import { z } from 'zod';
import { EMAIL_RULE, isEmailAddress } from '../../rules/contact-key.ts';
import { jsonBytes } from '../../rules/record-size.ts';
import * as f from '../contract/fields.ts';

export const TeamMember = f.object('TeamMember', {
  id: f.id().describe('Opaque, immutable identifier. `sellerMemberId` of an opportunity refers to it.'),
  userId: f.string('The id of the user account of the member.', 'usr_1042'),
  name: f.string('First and last name.', 'Lucía Romero'),
  email: f.string('The email address at work.', 'lucia@example.com'),
  roles: f.field(z.array(z.string()), 'One base role and optional additional roles.', ['owner']),
  isAssignable: z
    .boolean()
    .describe('Whether the member takes part in automatic assignment of opportunities.'),
  createdAt: f
    .dateTime()
    .describe('When the record of the member was created. The list has this order, oldest first.'),
});

export const TeamMemberListQuery = z.object(f.recordQuery());

/** The schemas below belong to the dashboard API only. */

export const TeamMemberRecord = TeamMember.extend({ archivedAt: f.archivedAt() }).meta({
  id: 'TeamMemberRecord',
});

export const TeamMemberRecordListQuery = TeamMemberListQuery.extend({
  userId: f.textFilter('The member of this account.', 255),
  archived: f.archivedFilter(),
});

/** A page of 100 members stays below 13 MiB. */
const MAX_ROLES_BYTES = 64 * 1024;

export const TeamMemberPut = f
  .objectLike(TeamMember.shape, {
    userId: f.field(
      f.text({ min: 1, max: 255 }),
      "The id of the person's account, which can belong to several organizations, and to one active member in each.",
    ),
    name: f.text({ min: 1, max: 255 }),
    email: f.text({ max: 320 }).refine(isEmailAddress, EMAIL_RULE),
    roles: f
      .texts()
      .refine(
        (roles) => jsonBytes(roles) <= MAX_ROLES_BYTES,
        `must have at most ${MAX_ROLES_BYTES} bytes as JSON in UTF-8`,
      )
      .default([])
      .describe('One base role and optional additional roles, at most 64 KiB.'),
    isAssignable: z
      .boolean()
      .default(true)
      .describe('Whether the member takes part in automatic assignment of opportunities.'),
    createdAt: f.createdOnce(),
  })
  .meta({
    id: 'TeamMemberPut',
    examples: [{ userId: 'user_81', name: 'Lucía Ríos', email: 'lucia@example.com', roles: ['owner'] }],
  });
export type TeamMemberPut = z.infer<typeof TeamMemberPut>;

export const TeamMemberUpdate = f.patchOf(TeamMemberPut).meta({
  id: 'TeamMemberUpdate',
  examples: [{ isAssignable: false }],
});
