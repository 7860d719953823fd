import type { FastifyPluginCallbackZod } from 'fastify-type-provider-zod';
import { Opportunity } from '../../opportunities/schema.ts';
import { archiveRoute, putRoute } from '../record-routes.ts';
import { archiveOpportunity, lockOpportunity, putOpportunity } from './repository.ts';
import { OpportunityPut } from './schema.ts';

const tags = ['Opportunities'];
const opportunity = { path: '/opportunities', idName: 'opportunityId', noun: 'opportunity' };

export const dashboardOpportunityRoutes: FastifyPluginCallbackZod = (app, _options, done) => {
  putRoute(app, {
    ...opportunity,
    operationId: 'putOpportunity',
    tags,
    summary: 'Create or replace an opportunity',
    description:
      'Fields left out take the default. The same again changes nothing; an archived opportunity comes back. A new reference must be to a live record of the organization.',
    body: OpportunityPut,
    record: Opportunity,
    lock: lockOpportunity,
    put: putOpportunity,
  });

  archiveRoute(app, {
    ...opportunity,
    operationId: 'archiveOpportunity',
    tags,
    summary: 'Archive an opportunity',
    description: 'The opportunity leaves lists and lookups; its quotes stay.',
    missing: 'OPPORTUNITY_NOT_FOUND',
    lock: lockOpportunity,
    archive: archiveOpportunity,
  });
  done();
};
