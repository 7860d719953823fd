import { ApiError } from '../contract/errors.ts';
import { isUniqueViolation } from '../db/pool/faults.ts';
import {
  columnsOf,
  defineList,
  defineRecord,
  fieldsOf,
  type OrganizationScope,
  type Put,
} from '../db/repository/index.ts';
import { activeStages, pipelineStages } from '../db/tables/index.ts';
import { PipelineStage, PipelineStageListQuery, PipelineStagePut } from './schema.ts';

const stageView = { ...activeStages, fields: fieldsOf(PipelineStage, pipelineStages) };

const record = defineRecord(stageView, {
  columns: columnsOf(PipelineStagePut, pipelineStages),
  fixed: ['key'],
});

/** The columns of the pipeline, from left to right. */
const list = defineList(stageView, {
  query: PipelineStageListQuery,
  order: [
    { field: 'position', direction: 'asc' },
    { field: 'id', direction: 'asc' },
  ],
  filters: {},
});

/**
 * A PUT that creates the stage or brings it back throws PIPELINE_STAGE_KEY_TAKEN where another stage has its key. A unique
 * index says so, and no look before.
 */
const put = (scope: OrganizationScope, id: string, input: PipelineStagePut): Promise<Put<PipelineStage>> =>
  record.put(scope, id, input).catch((error: unknown) => {
    if (!isUniqueViolation(error)) throw error;
    throw new ApiError('PIPELINE_STAGE_KEY_TAKEN', `Another stage has the key ${JSON.stringify(input.key)}.`);
  });

export const pipelineStageRecord = { ...record, put, list };
