import { ApiError } from '../contract/errors.ts';
import { activeStages, columnsOf, defineList, defineRecord, fieldsOf, pipelineStages } from '../db/index.ts';
import { PipelineStage, PipelineStageListQuery, PipelineStagePut } from './schema.ts';

const stageView = { ...activeStages, fields: fieldsOf(PipelineStage, pipelineStages) };

const record = defineRecord(stageView, {
  columns: columnsOf(PipelineStagePut, pipelineStages),
  fixed: ['key'],
  taken: ({ key }) => new ApiError('PIPELINE_STAGE_KEY_TAKEN', { key }),
});

const list = defineList(stageView, {
  query: PipelineStageListQuery,
  order: [
    { field: 'position', direction: 'asc' },
    { field: 'id', direction: 'asc' },
  ],
  filters: {},
});

export const pipelineStageRecord = { ...record, list };
