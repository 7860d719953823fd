import type { FastifyPluginCallbackZod } from 'fastify-type-provider-zod';
import { recordRoutes } from '../dashboard/record-routes.ts';
import { pipelineStageRecord } from './repository.ts';
import { PipelineStage, PipelineStageListQuery, PipelineStagePut, PipelineStageUpdate } from './schema.ts';

export const pipelineStageRoutes: FastifyPluginCallbackZod = (app, _options, done) => {
  recordRoutes(app, {
    path: '/pipeline-stages',
    title: 'a pipeline stage',
    record: PipelineStage,
    query: PipelineStageListQuery,
    body: PipelineStagePut,
    patch: PipelineStageUpdate,
    listed: 'The columns of the pipeline, from left to right.',
    note: '`key` cannot be changed after the stage was created.',
    archived: 'Opportunities in the stage keep it, and still show its key.',
    conflicts: ['PIPELINE_STAGE_KEY_TAKEN'],
    functions: pipelineStageRecord,
  });
  done();
};
