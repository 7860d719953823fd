import type { FastifyPluginCallbackZod } from 'fastify-type-provider-zod';
import { recordRoutes } from '../dashboard/record-routes.ts';
import { opportunityRecord } from './repository.ts';
import { Opportunity, OpportunityPut } from './schema.ts';

export const opportunityDashboardRoutes: FastifyPluginCallbackZod = (app, _options, done) => {
  recordRoutes(app, {
    path: '/opportunities',
    noun: 'opportunity',
    name: 'Opportunity',
    title: 'an opportunity',
    tags: ['Opportunities'],
    record: Opportunity,
    body: OpportunityPut,
    note: 'A new reference must be to a live record of the organization.',
    archived: 'The opportunity leaves lists and lookups; its quotes stay.',
    functions: opportunityRecord,
  });
  done();
};
