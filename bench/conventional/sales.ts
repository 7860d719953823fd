import { and, eq, isNull } from 'drizzle-orm';
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { opportunities, pipelineStages, quotes, teamMembers } from '../../src/db/tables/index.ts';
import {
  Opportunity,
  OpportunityList,
  OpportunityListQuery,
  OpportunityParams,
} from '../../src/opportunities/schema.ts';
import { type Quote, QuoteList, QuoteListQuery } from '../../src/quotes/schema.ts';
import { customers } from './schema.ts';
import { contains, type Database, fullName, iso, newest, notFound, type RouteOptions } from './shared.ts';

const name = { firstName: customers.firstName, lastName: customers.lastName };

const selectOpportunities = (db: Database) =>
  db
    .select({
      opportunity: opportunities,
      customer: name,
      sellerName: teamMembers.name,
      stage: pipelineStages.key,
    })
    .from(opportunities)
    .leftJoin(
      customers,
      and(
        eq(customers.organizationId, opportunities.organizationId),
        eq(customers.id, opportunities.customerId),
      ),
    )
    .leftJoin(
      teamMembers,
      and(
        eq(teamMembers.organizationId, opportunities.organizationId),
        eq(teamMembers.id, opportunities.sellerMemberId),
      ),
    )
    .leftJoin(
      pipelineStages,
      and(
        eq(pipelineStages.organizationId, opportunities.organizationId),
        eq(pipelineStages.id, opportunities.stageId),
      ),
    );

type OpportunityRow = Awaited<ReturnType<typeof selectOpportunities>>[number];

function toOpportunity({ opportunity, customer, sellerName, stage }: OpportunityRow): Opportunity {
  const { organizationId, archivedAt, temperatureOverride, ...fields } = opportunity;
  return {
    ...fields,
    customerName: fullName(customer?.firstName ?? null, customer?.lastName ?? null),
    sellerName,
    stage,
    temperature: (temperatureOverride ?? fields.temperature) as Opportunity['temperature'],
    qualifiedAt: iso(fields.qualifiedAt),
    lastActivityAt: iso(fields.lastActivityAt),
    createdAt: fields.createdAt.toISOString(),
    updatedAt: fields.updatedAt.toISOString(),
  };
}

const selectQuotes = (db: Database) =>
  db
    .select({ quote: quotes, customer: name })
    .from(quotes)
    .leftJoin(
      customers,
      and(eq(customers.organizationId, quotes.organizationId), eq(customers.id, quotes.customerId)),
    );

type QuoteRow = Awaited<ReturnType<typeof selectQuotes>>[number];

function toQuote({ quote, customer }: QuoteRow): Quote {
  const { organizationId, archivedAt, ...fields } = quote;
  return {
    ...fields,
    status: fields.status as Quote['status'],
    customerName: fullName(customer?.firstName ?? null, customer?.lastName ?? null),
    firstOpenedAt: iso(fields.firstOpenedAt),
    lastOpenedAt: iso(fields.lastOpenedAt),
    publishedAt: iso(fields.publishedAt),
    createdAt: fields.createdAt.toISOString(),
    updatedAt: fields.updatedAt.toISOString(),
  };
}

export const salesRoutes: FastifyPluginAsyncZod<RouteOptions> = async (app, { db }) => {
  app.get(
    '/opportunities',
    { schema: { querystring: OpportunityListQuery, response: { 200: OpportunityList } } },
    async ({ organizationId, query }) => {
      const { limit, offset } = query;
      const where = and(
        eq(opportunities.organizationId, organizationId),
        isNull(opportunities.archivedAt),
        query.salesStage ? eq(opportunities.salesStage, query.salesStage) : undefined,
        query.stageId ? eq(opportunities.stageId, query.stageId) : undefined,
        query.query ? contains(opportunities, query.query) : undefined,
      );
      const [rows, total] = await Promise.all([
        selectOpportunities(db)
          .where(where)
          .orderBy(newest(opportunities.updatedAt), newest(opportunities.id))
          .limit(limit)
          .offset(offset),
        db.$count(opportunities, where),
      ]);
      return { data: rows.map(toOpportunity), pagination: { limit, offset, total } };
    },
  );

  app.get(
    '/opportunities/:opportunityId',
    { schema: { params: OpportunityParams, response: { 200: Opportunity } } },
    async ({ organizationId, params }) => {
      const [row] = await selectOpportunities(db).where(
        and(
          eq(opportunities.organizationId, organizationId),
          eq(opportunities.id, params.opportunityId),
          isNull(opportunities.archivedAt),
        ),
      );
      if (!row) throw notFound('opportunity');
      return toOpportunity(row);
    },
  );

  app.get(
    '/quotes',
    { schema: { querystring: QuoteListQuery, response: { 200: QuoteList } } },
    async ({ organizationId, query }) => {
      const { limit, offset } = query;
      const where = and(
        eq(quotes.organizationId, organizationId),
        isNull(quotes.archivedAt),
        query.opportunityId ? eq(quotes.opportunityId, query.opportunityId) : undefined,
        query.status ? eq(quotes.status, query.status) : undefined,
        query.query ? contains(quotes, query.query) : undefined,
      );
      const [rows, total] = await Promise.all([
        selectQuotes(db)
          .where(where)
          .orderBy(newest(quotes.updatedAt), newest(quotes.id))
          .limit(limit)
          .offset(offset),
        db.$count(quotes, where),
      ]);
      return { data: rows.map(toQuote), pagination: { limit, offset, total } };
    },
  );
};
