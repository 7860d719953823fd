import type { FastifyPluginCallbackZod } from 'fastify-type-provider-zod';
import { toJson } from '../db/index.ts';
import type { FileLinks } from '../files/links.ts';
import { recordRoutes, recordView } from '../http/record-routes.ts';
import { json } from '../openapi/responses.ts';
import { listAttachments } from './attachments.repository.ts';
import { listQuotes } from './repository.ts';
import { Quote, QuoteAttachmentList, QuoteListQuery, QuoteParams } from './schema.ts';

const TOKEN = '`token` is generated or sent when the quote is created, and never changes.';

export const quoteRoutes = recordRoutes({
  path: '/quotes',
  title: 'a quote',
  plural: 'quotes',
  notFound: 'QUOTE_NOT_FOUND',
  descriptions: {
    list: 'Quotes that are not archived, most recently updated first. Use it to find the quotes of an opportunity or a customer, and to see which of them the customer has opened.',
    get: 'One quote, with the name of its customer.',
    put: TOKEN,
    update: TOKEN,
    archive: 'The quote is archived, with its attachments.',
  },
});

export const publicQuotes = recordView({
  schemas: { record: Quote, query: QuoteListQuery },
  functions: { list: listQuotes },
});

type AttachmentOptions = { links: FileLinks; params?: typeof QuoteParams };

export const attachmentRoutes: FastifyPluginCallbackZod<AttachmentOptions> = (app, options, done) => {
  const { links, params = QuoteParams } = options;
  app.get(
    '/quotes/:quoteId/attachments',
    {
      config: { credential: true, errorCodes: ['QUOTE_NOT_FOUND'] },
      schema: {
        operationId: 'listQuoteAttachments',
        summary: 'List the attachments of a quote',
        description:
          'Every attachment with a signed, short-lived download URL. Quote attachments are private: the URL is a credential. Use it to fetch the files of a quote.',
        params,
        response: { 200: json(QuoteAttachmentList, 'The attachments.') },
      },
    },
    async ({ scope, params }) => toJson({ data: await listAttachments(scope, params.quoteId, links) }),
  );
  done();
};
