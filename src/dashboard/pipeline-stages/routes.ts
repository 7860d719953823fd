import type { FastifyPluginCallbackZod } from 'fastify-type-provider-zod';
import { json } from '../../http/json.ts';
import { responses } from '../../http/openapi.ts';
import { ArchivedRecord, uuidParams } from '../params.ts';
import { archivePipelineStage, putPipelineStage } from './repository.ts';
import { PipelineStage, PipelineStagePut } from './schema.ts';

const tags = ['Pipeline stages'];
const params = uuidParams('pipelineStageId');

export const pipelineStageRoutes: FastifyPluginCallbackZod = (app, _options, done) => {
  app.put(
    '/pipeline-stages/:pipelineStageId',
    {
      schema: {
        operationId: 'putPipelineStage',
        tags,
        summary: 'Create or replace a pipeline stage',
        description:
          'Fields left out take the default. The same again changes nothing; an archived stage comes back.',
        params,
        body: PipelineStagePut,
        response: responses([
          { status: 201, schema: PipelineStage, description: 'The stage, created.' },
          { status: 200, schema: PipelineStage, description: 'The stage as it is now.' },
        ]),
      },
    },
    async (request, reply) => {
      const { created, body } = await putPipelineStage(
        request.scope,
        request.params.pipelineStageId,
        request.body,
      );
      return json(reply, body, created ? 201 : 200);
    },
  );

  app.delete(
    '/pipeline-stages/:pipelineStageId',
    {
      schema: {
        operationId: 'archivePipelineStage',
        tags,
        summary: 'Archive a pipeline stage',
        description: 'Opportunities that are in the stage keep it, and go on showing its key.',
        params,
        response: responses(
          { status: 200, schema: ArchivedRecord, description: 'The stage was archived.' },
          'PIPELINE_STAGE_NOT_FOUND',
        ),
      },
    },
    async (request, reply) =>
      json(reply, await archivePipelineStage(request.scope, request.params.pipelineStageId)),
  );
  done();
};
