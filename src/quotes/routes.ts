import type { FastifyPluginCallbackZod } from 'fastify-type-provider-zod';
import type { FileLinks } from '../files/links.ts';
import { json } from '../openapi/responses.ts';
import { listAttachments } from './attachments.repository.ts';
import { listQuotes } from './repository.ts';
import { QuoteAttachmentList, QuoteList, QuoteListQuery, QuoteParams } from './schema.ts';

export const quoteRoutes: FastifyPluginCallbackZod<{ links: FileLinks }> = (app, { links }, done) => {
  app.get(
    '/quotes',
    {
      schema: {
        operationId: 'listQuotes',
        summary: 'List quotes',
        description:
          'Quotes that are not archived, most recently updated first. Use it to find the quotes of an opportunity or a customer, and to see which of them the customer has opened.',
        querystring: QuoteListQuery,
        response: { 200: json(QuoteList, 'A page of quotes.') },
      },
    },
    async (request) => listQuotes(request.scope, request.query),
  );

  app.get(
    '/quotes/:quoteId/attachments',
    {
      config: { credential: true, errorCodes: ['QUOTE_NOT_FOUND'] },
      schema: {
        operationId: 'listQuoteAttachments',
        summary: 'List the attachments of a quote',
        description:
          'Every attachment with a signed, short-lived download URL. Quote attachments are private: the URL is a credential. Use it to fetch the files of a quote.',
        params: QuoteParams,
        response: { 200: json(QuoteAttachmentList, 'The attachments.') },
      },
    },
    async (request) => listAttachments(request.scope, request.params.quoteId, links),
  );
  done();
};
