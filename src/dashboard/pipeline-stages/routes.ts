import type { FastifyPluginCallbackZod } from 'fastify-type-provider-zod';
import { recordRoutes } from '../record-routes.ts';
import { archivePipelineStage, lockPipelineStage, putPipelineStage } from './repository.ts';
import { PipelineStage, PipelineStagePut } from './schema.ts';

export const pipelineStageRoutes: FastifyPluginCallbackZod = (app, _options, done) => {
  recordRoutes(app, {
    path: '/pipeline-stages',
    idName: 'pipelineStageId',
    noun: 'stage',
    name: 'PipelineStage',
    title: 'a pipeline stage',
    tags: ['Pipeline stages'],
    record: PipelineStage,
    body: PipelineStagePut,
    missing: 'PIPELINE_STAGE_NOT_FOUND',
    archived: 'Opportunities that are in the stage keep it, and go on showing its key.',
    functions: { lock: lockPipelineStage, put: putPipelineStage, archive: archivePipelineStage },
  });
  done();
};
