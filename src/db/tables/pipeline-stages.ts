import { isNull } from 'drizzle-orm';
import { integer, pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core';
import { archivedIndex, isActive, recordColumns } from './columns.ts';
import { primary, toOrganization } from './organizations.ts';
import type { Resource } from './resource.ts';

/** Stages of the sales pipeline. Agencies rename a stage; its `key` stays. */
export const pipelineStages = pgTable(
  'pipeline_stages',
  {
    ...recordColumns(),
    key: text('key').notNull(),
    name: text('name').notNull(),
    position: integer('position').notNull().default(0),
  },
  (table) => [
    primary('pipeline_stages_pkey', table),
    toOrganization('pipeline_stages_organization_fkey', table),
    uniqueIndex('pipeline_stages_live_key').on(table.organizationId, table.key).where(isActive),
    archivedIndex('pipeline_stages', table),
  ],
);

export const activeStages = {
  table: pipelineStages,
  visible: isNull(pipelineStages.archivedAt),
  notFound: 'PIPELINE_STAGE_NOT_FOUND',
  isCounted: false,
} satisfies Resource;
