import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { page } from '../contract/fields.ts';
import { json } from '../http/records.ts';
import { getOpportunity, listOpportunities } from './repository.ts';
import * as schema from './schema.ts';

/** What an API shows of an opportunity, and the functions for it. */
export const publicOpportunities = {
  params: schema.OpportunityParams,
  opportunity: schema.Opportunity,
  query: schema.OpportunityListQuery,
  list: listOpportunities,
  get: getOpportunity,
};
export type OpportunityView = typeof publicOpportunities;

export const opportunityRoutes: FastifyPluginAsyncZod<OpportunityView> = async (app, view) => {
  app.get(
    '/opportunities',
    {
      config: { access: 'read', resource: 'opportunities' },
      schema: {
        operationId: 'listOpportunities',
        summary: 'List opportunities',
        description:
          'Opportunities that are not archived, most recently updated first. Use it to see what is in the pipeline, by sales stage, column, temperature, seller or customer, and to find a lead by its short reference.',
        querystring: view.query,
        response: { 200: json(page(view.opportunity), 'A page of opportunities.') },
      },
    },
    async ({ scope, query }) => view.list(scope, query),
  );

  app.get(
    '/opportunities/:opportunityId',
    {
      config: { access: 'read', resource: 'opportunities', errorCodes: ['OPPORTUNITY_NOT_FOUND'] },
      schema: {
        operationId: 'getOpportunity',
        summary: 'Get an opportunity',
        description:
          'One opportunity, with the names of its customer and seller. Use it to read an opportunity whose id you know.',
        params: view.params,
        response: { 200: json(view.opportunity, 'The opportunity.') },
      },
    },
    async ({ scope, params }) => view.get(scope, params.opportunityId),
  );
};
