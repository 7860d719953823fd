import type { FastifyPluginCallbackZod } from 'fastify-type-provider-zod';
import { recordRoutes } from '../dashboard/record-routes.ts';
import { opportunityRecord } from './repository.ts';
import { OpportunityListQuery, OpportunityPut, OpportunityRecord, OpportunityUpdate } from './schema.ts';

export const opportunityDashboardRoutes: FastifyPluginCallbackZod = (app, _options, done) => {
  recordRoutes(app, {
    path: '/opportunities',
    title: 'an opportunity',
    record: OpportunityRecord,
    query: OpportunityListQuery,
    body: OpportunityPut,
    patch: OpportunityUpdate,
    listed: 'Opportunities that are not archived, most recently updated first, with the filters of /v1.',
    note: 'A new reference must be to an active record of the organization.',
    archived: 'The opportunity is archived; its quotes stay.',
    functions: opportunityRecord,
  });
  done();
};
