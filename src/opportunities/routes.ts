import { recordRoutes, recordView } from '../http/record-routes.ts';
import { getOpportunity, listOpportunities } from './repository.ts';
import { Opportunity, OpportunityListQuery } from './schema.ts';

const REFERENCES = 'A new reference must be to an active record of the organization.';

export const opportunityRoutes = recordRoutes({
  path: '/opportunities',
  title: 'an opportunity',
  plural: 'opportunities',
  notFound: 'OPPORTUNITY_NOT_FOUND',
  descriptions: {
    list: 'Opportunities that are not archived, most recently updated first. Use it to see what is in the pipeline, by sales stage, column, temperature, seller or customer, and to find a lead by its short reference.',
    get: 'One opportunity, with the names of its customer and seller. Use it to read an opportunity whose id you know.',
    put: REFERENCES,
    update: REFERENCES,
    archive: 'The opportunity is archived; its quotes stay.',
  },
});

export const publicOpportunities = recordView({
  schemas: { record: Opportunity, query: OpportunityListQuery },
  functions: { list: listOpportunities, get: getOpportunity },
});
