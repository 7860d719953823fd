import type { FastifyPluginCallbackZod } from 'fastify-type-provider-zod';
import { ArchivedRecord, recordView } from '../http/record-routes.ts';
import { json } from '../openapi/responses.ts';
import { opportunityRecord, sumOpportunities } from './repository.ts';
import {
  OpportunityPut,
  OpportunityRecord,
  OpportunityRecordListQuery,
  OpportunityTotals,
  OpportunityTotalsQuery,
  OpportunityUpdate,
} from './schema.ts';

export const opportunityRecords = recordView({
  schemas: {
    record: OpportunityRecord,
    query: OpportunityRecordListQuery,
    put: OpportunityPut,
    patch: OpportunityUpdate,
    archived: ArchivedRecord,
  },
  functions: opportunityRecord,
});

export const opportunityDashboardRoutes: FastifyPluginCallbackZod = (app, _options, done) => {
  app.get(
    '/opportunities/totals',
    {
      schema: {
        operationId: 'sumOpportunities',
        summary: 'Sum up opportunities by column',
        description:
          'The number of opportunities in each column of the pipeline, and their budgets by currency, with the filters of the list.',
        querystring: OpportunityTotalsQuery,
        response: { 200: json(OpportunityTotals, 'The totals.') },
      },
    },
    async (request) => sumOpportunities(request.scope, request.query),
  );
  done();
};
