import type { FastifyPluginCallbackZod } from 'fastify-type-provider-zod';
import { Opportunity } from '../../opportunities/schema.ts';
import { recordRoutes } from '../record-routes.ts';
import { archiveOpportunity, lockOpportunity, putOpportunity } from './repository.ts';
import { OpportunityPut } from './schema.ts';

export const dashboardOpportunityRoutes: FastifyPluginCallbackZod = (app, _options, done) => {
  recordRoutes(app, {
    path: '/opportunities',
    idName: 'opportunityId',
    noun: 'opportunity',
    name: 'Opportunity',
    title: 'an opportunity',
    tags: ['Opportunities'],
    record: Opportunity,
    body: OpportunityPut,
    missing: 'OPPORTUNITY_NOT_FOUND',
    note: 'A new reference must be to a live record of the organization.',
    archived: 'The opportunity leaves lists and lookups; its quotes stay.',
    functions: { lock: lockOpportunity, put: putOpportunity, archive: archiveOpportunity },
  });
  done();
};
