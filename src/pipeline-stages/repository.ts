import { ApiError } from '../contract/errors.ts';
import {
  activeStages,
  columnsOf,
  defineRecord,
  oldestFirst,
  pipelineStages,
  recordFilters,
  viewOf,
} from '../db/index.ts';
import { PipelineStage, PipelineStageListQuery, PipelineStagePut } from './schema.ts';

export const pipelineStageRecord = defineRecord(viewOf(activeStages, PipelineStage, {}), {
  lists: {
    query: PipelineStageListQuery,
    order: oldestFirst(pipelineStages, pipelineStages.position),
    filters: recordFilters(activeStages),
  },
  columns: columnsOf(PipelineStagePut, pipelineStages),
  fixed: ['key'],
  taken: () => new ApiError('PIPELINE_STAGE_KEY_TAKEN'),
});
