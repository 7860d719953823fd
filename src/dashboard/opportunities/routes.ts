import type { FastifyPluginCallbackZod } from 'fastify-type-provider-zod';
import { json } from '../../http/json.ts';
import { responses } from '../../http/openapi.ts';
import { Opportunity } from '../../opportunities/schema.ts';
import { ArchivedRecord, uuidParams } from '../params.ts';
import { archiveOpportunity, putOpportunity } from './repository.ts';
import { OpportunityPut } from './schema.ts';

const tags = ['Opportunities'];
const params = uuidParams('opportunityId');

export const opportunityRoutes: FastifyPluginCallbackZod = (app, _options, done) => {
  app.put(
    '/opportunities/:opportunityId',
    {
      schema: {
        operationId: 'putOpportunity',
        tags,
        summary: 'Create or replace an opportunity',
        description:
          'Fields left out take the default. The same again changes nothing; an archived opportunity comes back. A new reference must be to a live record of the organization.',
        params,
        body: OpportunityPut,
        response: responses([
          { status: 201, schema: Opportunity, description: 'The opportunity, created.' },
          { status: 200, schema: Opportunity, description: 'The opportunity as it is now.' },
        ]),
      },
    },
    async (request, reply) => {
      const { created, body } = await putOpportunity(
        request.scope,
        request.params.opportunityId,
        request.body,
      );
      return json(reply, body, created ? 201 : 200);
    },
  );

  app.delete(
    '/opportunities/:opportunityId',
    {
      schema: {
        operationId: 'archiveOpportunity',
        tags,
        summary: 'Archive an opportunity',
        description: 'The opportunity leaves lists and lookups; its quotes stay.',
        params,
        response: responses(
          {
            status: 200,
            schema: ArchivedRecord,
            description: 'The opportunity was archived.',
          },
          'OPPORTUNITY_NOT_FOUND',
        ),
      },
    },
    async (request, reply) =>
      json(reply, await archiveOpportunity(request.scope, request.params.opportunityId)),
  );
  done();
};
