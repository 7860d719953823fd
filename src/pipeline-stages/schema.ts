import { z } from 'zod';
import * as f from '../contract/fields.ts';

export const PipelineStage = f.object('PipelineStage', {
  id: f.recordId(),
  key: z.string().meta({ examples: ['negotiation'] }),
  name: z.string().meta({ examples: ['Negociación'] }),
  position: z.int32().describe('Position in the pipeline, from left to right.'),
  createdAt: f.createdAt(),
  archivedAt: f.archivedAt(),
});

export const PipelineStagePut = z
  .object({
    key: f
      .text({ min: 1, max: 255 })
      .describe('Stable: integrations branch on it. Unique among the stages; it cannot be changed later.'),
    name: f.text({ min: 1, max: 255 }).describe('The name of the column.'),
    position: f.integer().default(0),
    createdAt: f.createdOnce(),
  })
  .meta({
    id: 'PipelineStagePut',
    examples: [{ key: 'negotiation', name: 'Negociación', position: 2 }],
  });
export type PipelineStagePut = z.infer<typeof PipelineStagePut>;

export const PipelineStageUpdate = f.patchOf(PipelineStagePut).meta({
  id: 'PipelineStageUpdate',
  examples: [{ name: 'En negociación' }],
});

export const PipelineStageListQuery = z.object({ ...f.recordQuery(), archived: f.archivedFilter() });
