import { ApiError } from '../contract/errors.ts';
import { activeStages, columnsOf, defineRecord, fieldsOf, oldestFirst, pipelineStages } from '../db/index.ts';
import { PipelineStage, PipelineStageListQuery, PipelineStagePut } from './schema.ts';

const stageView = { ...activeStages, fields: fieldsOf(PipelineStage, pipelineStages, {}) };

export const pipelineStageRecord = defineRecord(stageView, {
  lists: {
    query: PipelineStageListQuery,
    order: oldestFirst(pipelineStages, pipelineStages.position),
    filters: {},
  },
  columns: columnsOf(PipelineStagePut, pipelineStages),
  fixed: ['key'],
  taken: ({ key }) => new ApiError('PIPELINE_STAGE_KEY_TAKEN', { key }),
});
