import { isNull } from 'drizzle-orm';
import { boolean, index, pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core';
import { archivedIndex, isActive, recordColumns, texts } from './columns.ts';
import { primary, toOrganization } from './organizations.ts';
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
    primary('team_members_pkey', table),
    toOrganization('team_members_organization_fkey', table),
    index('team_members_live_idx').on(table.organizationId, table.createdAt, table.id).where(isActive),
    // An account begins it, for the organizations of an account.
    uniqueIndex('team_members_user_key').on(table.userId, table.organizationId).where(isActive),
    archivedIndex('team_members', table),
  ],
);

export const activeMembers = {
  table: teamMembers,
  visible: isNull(teamMembers.archivedAt),
  notFound: 'TEAM_MEMBER_NOT_FOUND',
  isCounted: false,
} satisfies Resource;
