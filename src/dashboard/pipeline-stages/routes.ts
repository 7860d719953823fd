import type { FastifyPluginCallbackZod } from 'fastify-type-provider-zod';
import { archiveRoute, putRoute } from '../record-routes.ts';
import { archivePipelineStage, lockPipelineStage, putPipelineStage } from './repository.ts';
import { PipelineStage, PipelineStagePut } from './schema.ts';

const tags = ['Pipeline stages'];
const stage = { path: '/pipeline-stages', idName: 'pipelineStageId', noun: 'stage' };

export const pipelineStageRoutes: FastifyPluginCallbackZod = (app, _options, done) => {
  putRoute(app, {
    ...stage,
    operationId: 'putPipelineStage',
    tags,
    summary: 'Create or replace a pipeline stage',
    description:
      'Fields left out take the default. The same again changes nothing; an archived stage comes back.',
    body: PipelineStagePut,
    record: PipelineStage,
    lock: lockPipelineStage,
    put: putPipelineStage,
  });

  archiveRoute(app, {
    ...stage,
    operationId: 'archivePipelineStage',
    tags,
    summary: 'Archive a pipeline stage',
    description: 'Opportunities that are in the stage keep it, and go on showing its key.',
    missing: 'PIPELINE_STAGE_NOT_FOUND',
    lock: lockPipelineStage,
    archive: archivePipelineStage,
  });
  done();
};
