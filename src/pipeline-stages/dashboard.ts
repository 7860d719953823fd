import { ArchivedRecord, recordRoutes } from '../http/record-routes.ts';
import { pipelineStageRecord } from './repository.ts';
import { PipelineStage, PipelineStageListQuery, PipelineStagePut, PipelineStageUpdate } from './schema.ts';

const KEY_TAKEN = ['PIPELINE_STAGE_KEY_TAKEN'] as const;
const FIXED = '`key` cannot be changed after the stage was created.';

export const pipelineStageRoutes = recordRoutes({
  path: '/pipeline-stages',
  title: 'a pipeline stage',
  plural: 'pipeline stages',
  notFound: 'PIPELINE_STAGE_NOT_FOUND',
  descriptions: {
    list: 'The columns of the pipeline, from left to right.',
    get: 'One column of the pipeline.',
    put: FIXED,
    update: FIXED,
    archive: 'Opportunities in the stage keep it, and still show its key.',
  },
})({
  schemas: {
    record: PipelineStage,
    query: PipelineStageListQuery,
    put: PipelineStagePut,
    patch: PipelineStageUpdate,
    archived: ArchivedRecord,
  },
  functions: pipelineStageRecord,
  codes: { put: KEY_TAKEN, restore: KEY_TAKEN },
});
