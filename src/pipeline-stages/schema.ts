import { z } from 'zod';
import {
  archivedAt,
  archivedFilter,
  createdOnce,
  dateTime,
  field,
  id,
  integer,
  pageQuery,
  patchOf,
  text,
} from '../contract/fields.ts';

export const PipelineStage = z
  .object({
    id: id(),
    key: z.string().meta({ examples: ['negotiation'] }),
    name: z.string().meta({ examples: ['Negociación'] }),
    position: z.int32().describe('Position in the pipeline, from left to right.'),
    createdAt: field(dateTime(), 'When it was created.'),
    archivedAt: archivedAt(),
  })
  .meta({ id: 'PipelineStage' });

export const PipelineStagePut = z
  .object({
    key: text({ min: 1, max: 255 }).describe(
      'Stable: integrations branch on it. Unique among the stages; it cannot be changed later.',
    ),
    name: text({ min: 1, max: 255 }).describe('The name of the column.'),
    position: integer().default(0),
    createdAt: createdOnce(),
  })
  .meta({
    id: 'PipelineStagePut',
    examples: [{ key: 'negotiation', name: 'Negociación', position: 2 }],
  });
export type PipelineStagePut = z.infer<typeof PipelineStagePut>;

export const PipelineStageUpdate = patchOf(PipelineStagePut).meta({
  id: 'PipelineStageUpdate',
  examples: [{ name: 'En negociación' }],
});

export const PipelineStageListQuery = z.object({ ...pageQuery(), archived: archivedFilter() });
