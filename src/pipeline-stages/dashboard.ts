import type { FastifyPluginCallbackZod } from 'fastify-type-provider-zod';
import { recordRoutes } from '../dashboard/record-routes.ts';
import { pipelineStageRecord } from './repository.ts';
import { PipelineStage, PipelineStagePut } from './schema.ts';

export const pipelineStageRoutes: FastifyPluginCallbackZod = (app, _options, done) => {
  recordRoutes(app, {
    path: '/pipeline-stages',
    noun: 'stage',
    name: 'PipelineStage',
    title: 'a pipeline stage',
    tags: ['Pipeline stages'],
    record: PipelineStage,
    body: PipelineStagePut,
    archived: 'Opportunities that are in the stage keep it, and go on showing its key.',
    functions: pipelineStageRecord,
  });
  done();
};
