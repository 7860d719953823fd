import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { page } from '../contract/fields.ts';
import { ifMatch, putIfMatch } from '../http/conditional.ts';
import { ArchivedRecord, CHANGES_ONLY, json, REPLACES, uuidParams } from '../http/records.ts';
import { pipelineStageRecord } from './repository.ts';
import * as schema from './schema.ts';

export const pipelineStageRoutes: FastifyPluginAsyncZod = async (app) => {
  const params = uuidParams('pipelineStageId');

  app.get(
    '/pipeline-stages',
    {
      schema: {
        operationId: 'listPipelineStages',
        summary: 'List pipeline stages',
        description: 'The columns of the pipeline, from left to right.',
        querystring: schema.PipelineStageListQuery,
        response: { 200: json(page(schema.PipelineStage), 'A page of pipeline stages.') },
      },
    },
    async ({ scope, query }) => pipelineStageRecord.list(scope, query),
  );

  app.get(
    '/pipeline-stages/:pipelineStageId',
    {
      config: { errorCodes: ['PIPELINE_STAGE_NOT_FOUND'] },
      schema: {
        operationId: 'getPipelineStage',
        summary: 'Get a pipeline stage',
        description: 'One column of the pipeline.',
        params,
        response: { 200: json(schema.PipelineStage, 'The pipeline stage.') },
      },
    },
    async ({ scope, params }) => pipelineStageRecord.get(scope, params.pipelineStageId),
  );

  app.put(
    '/pipeline-stages/:pipelineStageId',
    {
      config: { errorCodes: ['PIPELINE_STAGE_KEY_TAKEN'] },
      schema: {
        operationId: 'putPipelineStage',
        summary: 'Create or replace a pipeline stage',
        description: `${REPLACES} A PUT of an archived pipeline stage makes it active, as the body says. \`key\` cannot be changed after the stage was created.`,
        params,
        body: schema.PipelineStagePut,
        response: {
          201: json(schema.PipelineStage, 'The pipeline stage, created.'),
          200: json(schema.PipelineStage, 'The pipeline stage as it is now.'),
        },
      },
    },
    async (request, reply) => putIfMatch(request, reply, request.params.pipelineStageId, pipelineStageRecord),
  );

  app.patch(
    '/pipeline-stages/:pipelineStageId',
    {
      config: { errorCodes: ['PIPELINE_STAGE_NOT_FOUND'] },
      schema: {
        operationId: 'updatePipelineStage',
        summary: 'Update a pipeline stage',
        description: `${CHANGES_ONLY} \`key\` cannot be changed after the stage was created.`,
        params,
        body: schema.PipelineStageUpdate,
        response: { 200: json(schema.PipelineStage, 'The pipeline stage as it is now.') },
      },
    },
    async (request) =>
      ifMatch(
        request,
        pipelineStageRecord.lockToUpdate,
        request.params.pipelineStageId,
        pipelineStageRecord.update,
      ),
  );

  app.delete(
    '/pipeline-stages/:pipelineStageId',
    {
      config: { errorCodes: ['PIPELINE_STAGE_NOT_FOUND'] },
      schema: {
        operationId: 'archivePipelineStage',
        summary: 'Archive a pipeline stage',
        description: 'Opportunities in the stage keep it, and still show its key.',
        params,
        response: { 200: json(ArchivedRecord, 'The pipeline stage was archived.') },
      },
    },
    async (request) =>
      ifMatch(request, pipelineStageRecord.lock, request.params.pipelineStageId, pipelineStageRecord.archive),
  );

  app.post(
    '/pipeline-stages/:pipelineStageId/restore',
    {
      config: {
        errorCodes: ['PIPELINE_STAGE_NOT_FOUND', 'PIPELINE_STAGE_NOT_ARCHIVED', 'PIPELINE_STAGE_KEY_TAKEN'],
      },
      schema: {
        operationId: 'restorePipelineStage',
        summary: 'Restore an archived pipeline stage',
        description: 'The pipeline stage is active again, with all its fields.',
        params,
        response: { 200: json(schema.PipelineStage, 'The pipeline stage as it is now.') },
      },
    },
    async ({ scope, params }) => pipelineStageRecord.restore(scope, params.pipelineStageId),
  );
};
