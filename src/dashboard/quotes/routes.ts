import type { FastifyPluginAsyncZod, FastifyPluginCallbackZod } from 'fastify-type-provider-zod';
import type { z } from 'zod';
import type { FileLinks } from '../../files/links.ts';
import { acceptUploads, readUpload } from '../../files/multipart.ts';
import { type FileStorage, storageKey } from '../../files/storage.ts';
import { json } from '../../http/json.ts';
import { responses } from '../../http/openapi.ts';
import { validatorCompiler } from '../../http/validation.ts';
import { Quote, QuoteAttachment } from '../../quotes/schema.ts';
import { ArchivedRecord, uuidParams } from '../params.ts';
import {
  archiveQuote,
  deleteAttachment,
  openQuote,
  putQuote,
  recordAttachment,
  storeAttachment,
} from './repository.ts';
import { DeletedQuoteAttachment, QuoteAttachmentUpload, QuoteOpen, QuotePut } from './schema.ts';

const tags = ['Quotes'];
const params = uuidParams('quoteId');

export type QuoteRoutesOptions = { storage: FileStorage; links: FileLinks; now: () => number };

export const quoteRoutes: FastifyPluginCallbackZod<QuoteRoutesOptions> = (app, options, done) => {
  const { storage, now } = options;

  app.put(
    '/quotes/:quoteId',
    {
      schema: {
        operationId: 'putQuote',
        tags,
        summary: 'Create or replace a quote',
        description:
          'Fields left out take the default. The same again changes nothing; an archived quote comes back. `token` is made when the quote is created and never changes.',
        params,
        body: QuotePut,
        response: responses([
          { status: 201, schema: Quote, description: 'The quote, created.' },
          { status: 200, schema: Quote, description: 'The quote as it is now.' },
        ]),
      },
    },
    async (request, reply) => {
      const { created, body } = await putQuote(request.scope, request.params.quoteId, request.body);
      return json(reply, body, created ? 201 : 200);
    },
  );

  app.delete(
    '/quotes/:quoteId',
    {
      schema: {
        operationId: 'archiveQuote',
        tags,
        summary: 'Archive a quote',
        description: 'The quote leaves lists and lookups, and its attachments with it.',
        params,
        response: responses(
          { status: 200, schema: ArchivedRecord, description: 'The quote was archived.' },
          'QUOTE_NOT_FOUND',
        ),
      },
    },
    async (request, reply) => json(reply, await archiveQuote(request.scope, request.params.quoteId)),
  );

  app.post(
    '/quotes/:quoteId/opens',
    {
      schema: {
        operationId: 'openQuote',
        tags,
        summary: 'Count an opening of a quote',
        description:
          'One more for `openCount`; `firstOpenedAt` becomes the earliest and `lastOpenedAt` the latest. `updatedAt` stays.',
        params,
        body: QuoteOpen,
        response: responses(
          { status: 200, schema: Quote, description: 'The quote as it is now.' },
          'QUOTE_NOT_FOUND',
        ),
      },
    },
    async (request, reply) => {
      const openedAt = request.body.openedAt ?? new Date(now()).toISOString();
      return json(reply, await openQuote(request.scope, request.params.quoteId, openedAt));
    },
  );

  app.delete(
    '/quotes/:quoteId/attachments/:attachmentId',
    {
      schema: {
        operationId: 'deleteQuoteAttachment',
        tags,
        summary: 'Delete an attachment',
        description: 'The attachment and its file are gone for good.',
        params: uuidParams('quoteId', 'attachmentId'),
        response: responses(
          {
            status: 200,
            schema: DeletedQuoteAttachment,
            description: 'The attachment was deleted.',
          },
          'QUOTE_NOT_FOUND',
          'QUOTE_ATTACHMENT_NOT_FOUND',
        ),
      },
    },
    async (request, reply) => {
      const { quoteId, attachmentId } = request.params;
      const deleted = await deleteAttachment(request.scope, storage, quoteId, attachmentId);
      return json(reply, JSON.stringify(deleted));
    },
  );

  app.register(uploadRoutes, options);
  done();
};

/** In a scope of its own: nothing else takes multipart bodies. */
const uploadRoutes: FastifyPluginAsyncZod<QuoteRoutesOptions> = async (app, { storage, links }) => {
  await acceptUploads(app);
  // The body is read by the route, as it arrives; its schema is for the document.
  app.setValidatorCompiler<z.ZodType>((part) =>
    part.httpPart === 'body' ? () => true : validatorCompiler(part),
  );

  app.post(
    '/quotes/:quoteId/attachments',
    {
      config: { credential: true },
      schema: {
        operationId: 'createQuoteAttachment',
        tags,
        summary: 'Attach a file to a quote',
        description:
          'The file is streamed to the storage; one larger than 25 MiB is refused while it arrives (413).',
        consumes: ['multipart/form-data'],
        params,
        body: QuoteAttachmentUpload,
        response: responses(
          { status: 201, schema: QuoteAttachment, description: 'The attachment.' },
          'QUOTE_NOT_FOUND',
        ),
      },
    },
    async (request, reply) => {
      const { scope, params } = request;
      const { stored, upload } = await readUpload(request, reply, {
        store: (content) => storeAttachment(scope, storage, params.quoteId, content),
        discard: ({ id }) => storage.remove(storageKey(scope.organizationId, id)),
      });
      const description = { kind: upload.kind, ...upload.file };
      const attachment = await recordAttachment(scope, storage, params.quoteId, stored, description);
      const url = await links.sign(scope, attachment);
      return json(reply, JSON.stringify({ ...attachment, url }), 201);
    },
  );
};
