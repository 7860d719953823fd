import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { ifMatch, putIfMatch } from '../http/conditional.ts';
import { ArchivedRecord, CHANGES, json, REPLACES, uuidParams } from '../http/records.ts';
import { opportunityRecord, sumOpportunities } from './repository.ts';
import type { OpportunityView } from './routes.ts';
import * as schema from './schema.ts';

const params = uuidParams('opportunityId');

export const opportunityRecords: OpportunityView = {
  params,
  opportunity: schema.OpportunityRecord,
  query: schema.OpportunityRecordListQuery,
  list: opportunityRecord.list,
  get: opportunityRecord.get,
};

export const opportunityDashboardRoutes: FastifyPluginAsyncZod = async (app) => {
  app.put(
    '/opportunities/:opportunityId',
    {
      schema: {
        operationId: 'putOpportunity',
        summary: 'Create or replace an opportunity',
        description: `${REPLACES} A PUT of an archived opportunity makes it active, as the body says. A new reference must be to an active record of the organization.`,
        params,
        body: schema.OpportunityPut,
        response: {
          201: json(schema.OpportunityRecord, 'The opportunity, created.'),
          200: json(schema.OpportunityRecord, 'The opportunity as it is now.'),
        },
      },
    },
    async (request, reply) => putIfMatch(request, reply, request.params.opportunityId, opportunityRecord),
  );

  app.patch(
    '/opportunities/:opportunityId',
    {
      config: { errorCodes: ['OPPORTUNITY_NOT_FOUND'] },
      schema: {
        operationId: 'updateOpportunity',
        summary: 'Update an opportunity',
        description: `${CHANGES} A new reference must be to an active record of the organization.`,
        params,
        body: schema.OpportunityUpdate,
        response: { 200: json(schema.OpportunityRecord, 'The opportunity as it is now.') },
      },
    },
    async (request) =>
      ifMatch(
        request,
        opportunityRecord.lockToUpdate,
        request.params.opportunityId,
        opportunityRecord.update,
      ),
  );

  app.delete(
    '/opportunities/:opportunityId',
    {
      config: { errorCodes: ['OPPORTUNITY_NOT_FOUND'] },
      schema: {
        operationId: 'archiveOpportunity',
        summary: 'Archive an opportunity',
        description: 'The opportunity is archived; its quotes stay.',
        params,
        response: { 200: json(ArchivedRecord, 'The opportunity was archived.') },
      },
    },
    async (request) =>
      ifMatch(request, opportunityRecord.lock, request.params.opportunityId, opportunityRecord.archive),
  );

  app.post(
    '/opportunities/:opportunityId/restore',
    {
      config: { errorCodes: ['OPPORTUNITY_NOT_FOUND', 'OPPORTUNITY_NOT_ARCHIVED'] },
      schema: {
        operationId: 'restoreOpportunity',
        summary: 'Restore an archived opportunity',
        description: 'The opportunity is active again, with all its fields.',
        params,
        response: { 200: json(schema.OpportunityRecord, 'The opportunity as it is now.') },
      },
    },
    async ({ scope, params }) => opportunityRecord.restore(scope, params.opportunityId),
  );

  app.get(
    '/opportunities/totals',
    {
      schema: {
        operationId: 'sumOpportunities',
        summary: 'Sum up opportunities by column',
        description:
          'The number of opportunities in each column of the pipeline, and their budgets by currency, with the filters of the list.',
        querystring: schema.OpportunityTotalsQuery,
        response: { 200: json(schema.OpportunityTotals, 'The totals.') },
      },
    },
    async (request) => sumOpportunities(request.scope, request.query),
  );
};
