import { isNull } from 'drizzle-orm';
import { integer, pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core';
import { isActive, recordColumns } from './columns.ts';
import { archivableKeys } from './organizations.ts';
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
    ...archivableKeys('pipeline_stages', table),
    uniqueIndex('pipeline_stages_live_key').on(table.organizationId, table.key).where(isActive),
  ],
);

export const activeStages = {
  table: pipelineStages,
  visible: isNull(pipelineStages.archivedAt),
  notFound: 'PIPELINE_STAGE_NOT_FOUND',
} satisfies Resource;
