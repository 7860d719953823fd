import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { page } from '../contract/fields.ts';
import { toJson } from '../db/index.ts';
import type { FileLinks } from '../files/links.ts';
import { json } from '../http/records.ts';
import { listAttachments } from './attachments.repository.ts';
import { listQuotes } from './repository.ts';
import * as schema from './schema.ts';

/** What an API shows of a quote, and the functions for it. */
export const publicQuotes = {
  params: schema.QuoteParams,
  quote: schema.Quote,
  query: schema.QuoteListQuery,
  list: listQuotes,
};
export type QuoteView = typeof publicQuotes;

export const quoteRoutes: FastifyPluginAsyncZod<QuoteView & { links: FileLinks }> = async (app, view) => {
  app.get(
    '/quotes',
    {
      config: { access: 'read', resource: 'quotes' },
      schema: {
        operationId: 'listQuotes',
        summary: 'List quotes',
        description:
          'Quotes that are not archived, most recently updated first. Use it to find the quotes of an opportunity or a customer, and to see which of them the customer has opened.',
        querystring: view.query,
        response: { 200: json(page(view.quote), 'A page of quotes.') },
      },
    },
    async ({ scope, query }) => view.list(scope, query),
  );

  app.get(
    '/quotes/:quoteId/attachments',
    {
      config: { access: 'read', resource: 'quotes', credential: true, errorCodes: ['QUOTE_NOT_FOUND'] },
      schema: {
        operationId: 'listQuoteAttachments',
        summary: 'List the attachments of a quote',
        description:
          'Every attachment with a signed, short-lived download URL. Quote attachments are private: the URL is a credential. Use it to fetch the files of a quote.',
        params: view.params,
        response: { 200: json(schema.QuoteAttachmentList, 'The attachments.') },
      },
    },
    async ({ scope, params }) => toJson({ data: await listAttachments(scope, params.quoteId, view.links) }),
  );
};
