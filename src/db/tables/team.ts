import { isNull } from 'drizzle-orm';
import { boolean, index, pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core';
import { isActive, recordColumns, texts } from './columns.ts';
import { archivableKeys } from './organizations.ts';
import type { Resource } from './resource.ts';

/** Members of the team, including former ones. */
export const teamMembers = pgTable(
  'team_members',
  {
    ...recordColumns(),
    userId: text('user_id').notNull(),
    name: text('name').notNull(),
    email: text('email').notNull(),
    roles: texts('roles'),
    isAssignable: boolean('is_assignable').notNull().default(true),
  },
  (table) => [
    ...archivableKeys('team_members', table),
    index('team_members_live_idx').on(table.organizationId, table.createdAt, table.id).where(isActive),
    // An account begins it, for the organizations of an account.
    uniqueIndex('team_members_user_key').on(table.userId, table.organizationId).where(isActive),
  ],
);

export const activeMembers = {
  table: teamMembers,
  visible: isNull(teamMembers.archivedAt),
  notFound: 'TEAM_MEMBER_NOT_FOUND',
} satisfies Resource;
