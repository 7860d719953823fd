import type { FastifyPluginCallbackZod } from 'fastify-type-provider-zod';
import { json } from '../openapi/responses.ts';
import { getOpportunity, listOpportunities } from './repository.ts';
import { Opportunity, OpportunityList, OpportunityListQuery, OpportunityParams } from './schema.ts';

export const opportunityRoutes: FastifyPluginCallbackZod = (app, _options, done) => {
  app.get(
    '/opportunities',
    {
      schema: {
        operationId: 'listOpportunities',
        summary: 'List opportunities',
        description:
          'Opportunities that are not archived, most recently updated first. Use it to see what is in the pipeline, by sales stage, column, temperature, seller or customer, and to find a lead by its short reference.',
        querystring: OpportunityListQuery,
        response: { 200: json(OpportunityList, 'A page of opportunities.') },
      },
    },
    async (request) => listOpportunities(request.scope, request.query),
  );

  app.get(
    '/opportunities/:opportunityId',
    {
      config: { errorCodes: ['OPPORTUNITY_NOT_FOUND'] },
      schema: {
        operationId: 'getOpportunity',
        summary: 'Get an opportunity',
        description:
          'One opportunity, with the names of its customer and seller. Use it to read an opportunity whose id you know.',
        params: OpportunityParams,
        response: { 200: json(Opportunity, 'The opportunity.') },
      },
    },
    async (request) => getOpportunity(request.scope, request.params.opportunityId),
  );
  done();
};
