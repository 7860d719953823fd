import type { Readable } from 'node:stream';
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import type { z } from 'zod';
import {
  type Database,
  databaseNow,
  type IdempotencyKey,
  isCertainlyUndone,
  type OrganizationScope,
  parseJson,
  toJson,
} from '../db/index.ts';
import type { FileLinks } from '../files/links.ts';
import { acceptUploads, readUpload } from '../files/multipart.ts';
import type { FileStorage } from '../files/storage.ts';
import { removeFile, type StoredFile, storeFile } from '../files/upload.ts';
import { ifMatch, putIfMatch } from '../http/conditional.ts';
import { beforeWrites } from '../http/error-handler.ts';
import { IDEMPOTENT, idempotent } from '../http/idempotency.ts';
import { ArchivedRecord, CHANGES, json, REPLACES, uuidParams } from '../http/records.ts';
import { validatorCompiler } from '../http/validation.ts';
import { addAttachment, deleteAttachment, getAttachment, MAX_ATTACHMENTS } from './attachments.repository.ts';
import { findQuote, openQuote, quoteRecord } from './repository.ts';
import type { QuoteView } from './routes.ts';
import * as schema from './schema.ts';

const params = uuidParams('quoteId');

export const quoteRecords: QuoteView = {
  params,
  quote: schema.QuoteRecord,
  query: schema.QuoteRecordListQuery,
  list: quoteRecord.list,
};

/** A public link names no organization. */
export const publicQuoteRoutes: FastifyPluginAsyncZod<{ db: Database }> = async (app, { db }) => {
  app.get(
    '/quotes',
    {
      config: { errorCodes: ['QUOTE_NOT_FOUND'] },
      schema: {
        operationId: 'findQuote',
        summary: 'Find the quote of a public link',
        description: 'The quote with this token, whatever its status, and its organization.',
        querystring: schema.PublicQuoteQuery,
        response: { 200: json(schema.PublicQuote, 'The quote.') },
      },
    },
    async (request) => findQuote(db, request.query.token),
  );
};

export type QuoteRoutesOptions = { storage: FileStorage; links: FileLinks };

export const quoteDashboardRoutes: FastifyPluginAsyncZod<QuoteRoutesOptions> = async (app, options) => {
  const { storage } = options;

  app.get(
    '/quotes/:quoteId',
    {
      config: { errorCodes: ['QUOTE_NOT_FOUND'] },
      schema: {
        operationId: 'getQuote',
        summary: 'Get a quote',
        description: 'One quote, with the name of its customer.',
        params,
        response: { 200: json(schema.QuoteRecord, 'The quote.') },
      },
    },
    async ({ scope, params }) => quoteRecord.get(scope, params.quoteId),
  );

  app.put(
    '/quotes/:quoteId',
    {
      schema: {
        operationId: 'putQuote',
        summary: 'Create or replace a quote',
        description: `${REPLACES} A PUT of an archived quote makes it active, as the body says. \`token\` is generated or sent when the quote is created, and never changes.`,
        params,
        body: schema.QuotePut,
        response: {
          201: json(schema.QuoteRecord, 'The quote, created.'),
          200: json(schema.QuoteRecord, 'The quote as it is now.'),
        },
      },
    },
    async (request, reply) => putIfMatch(request, reply, request.params.quoteId, quoteRecord),
  );

  app.patch(
    '/quotes/:quoteId',
    {
      config: { errorCodes: ['QUOTE_NOT_FOUND'] },
      schema: {
        operationId: 'updateQuote',
        summary: 'Update a quote',
        description: `${CHANGES} \`token\` is generated or sent when the quote is created, and never changes.`,
        params,
        body: schema.QuoteUpdate,
        response: { 200: json(schema.QuoteRecord, 'The quote as it is now.') },
      },
    },
    async (request) => ifMatch(request, quoteRecord.lockToUpdate, request.params.quoteId, quoteRecord.update),
  );

  app.delete(
    '/quotes/:quoteId',
    {
      config: { errorCodes: ['QUOTE_NOT_FOUND'] },
      schema: {
        operationId: 'archiveQuote',
        summary: 'Archive a quote',
        description: 'The quote is archived, with its attachments.',
        params,
        response: { 200: json(ArchivedRecord, 'The quote was archived.') },
      },
    },
    async (request) => ifMatch(request, quoteRecord.lock, request.params.quoteId, quoteRecord.archive),
  );

  app.post(
    '/quotes/:quoteId/restore',
    {
      config: { errorCodes: ['QUOTE_NOT_FOUND', 'QUOTE_NOT_ARCHIVED'] },
      schema: {
        operationId: 'restoreQuote',
        summary: 'Restore an archived quote',
        description: 'The quote is active again, with all its fields.',
        params,
        response: { 200: json(schema.QuoteRecord, 'The quote as it is now.') },
      },
    },
    async ({ scope, params }) => quoteRecord.restore(scope, params.quoteId),
  );

  app.post(
    '/quotes/:quoteId/opens',
    {
      config: { errorCodes: ['QUOTE_NOT_FOUND', 'QUOTE_NOT_PUBLISHED'] },
      schema: {
        operationId: 'openQuote',
        summary: 'Count an opening of a quote',
        description:
          'Adds one to `openCount`; `firstOpenedAt` becomes the earliest opening, `lastOpenedAt` the latest. A quote that is not published returns 409 QUOTE_NOT_PUBLISHED.',
        params,
        body: schema.QuoteOpen,
        response: { 200: json(schema.QuoteRecord, 'The quote as it is now.') },
      },
    },
    async (request) => openQuote(request.scope, request.params.quoteId, request.body.openedAt),
  );

  app.delete(
    '/quotes/:quoteId/attachments/:attachmentId',
    {
      config: { errorCodes: ['QUOTE_NOT_FOUND', 'QUOTE_ATTACHMENT_NOT_FOUND'] },
      schema: {
        operationId: 'deleteQuoteAttachment',
        summary: 'Delete an attachment',
        description: 'The attachment and its file are deleted for good.',
        params: uuidParams('quoteId', 'attachmentId'),
        response: { 200: json(schema.DeletedQuoteAttachment, 'The attachment was deleted.') },
      },
    },
    async (request) => {
      const { quoteId, attachmentId } = request.params;
      const remove = (scope: OrganizationScope) => deleteAttachment(scope, quoteId, attachmentId);
      // No response has the tag of an attachment: with any but `*`, the deletion is rolled back.
      const isAny = request.headers['if-match']?.trim() === '*';
      const deleted = await (isAny ? remove(request.scope) : ifMatch(request, remove, attachmentId, remove));
      await removeFile(request, storage, parseJson(deleted).id);
      return deleted;
    },
  );

  app.register(uploadRoutes, options);
};

/** Only this route takes multipart bodies, so it has its own scope. */
const uploadRoutes: FastifyPluginAsyncZod<QuoteRoutesOptions> = async (app, { storage, links }) => {
  await acceptUploads(app);
  // The route reads the body while it arrives; the schema only documents it.
  app.setValidatorCompiler<z.ZodType>((part) =>
    part.httpPart === 'body' ? () => true : validatorCompiler(part),
  );

  app.post(
    '/quotes/:quoteId/attachments',
    {
      config: { credential: true, errorCodes: ['QUOTE_NOT_FOUND', ...IDEMPOTENT] },
      schema: {
        operationId: 'createQuoteAttachment',
        summary: 'Attach a file to a quote',
        description: `The file is streamed to the storage. A file larger than 25 MiB is rejected while it arrives (413). A quote has at most ${MAX_ATTACHMENTS} attachments.`,
        consumes: ['multipart/form-data'],
        params,
        body: schema.QuoteAttachmentUpload,
        response: { 201: json(schema.QuoteAttachment, 'The attachment.') },
      },
    },
    async (request, reply) => {
      const { scope, params } = request;
      const discard = ({ id }: StoredFile) => removeFile(request, storage, id);
      const store = async (content: Readable) => {
        // With a key, the record that it created comes first.
        if (request.headers['idempotency-key'] === undefined)
          await quoteRecord.getActive(scope, params.quoteId);
        return storeFile(storage, scope.organizationId, content);
      };
      const { stored, description } = await readUpload(request, reply, store, discard);
      let now = 0;
      const attach = async (key?: IdempotencyKey) => {
        // Before the row: behind it, a busy database would leave an attachment of which the client does not know.
        now = await databaseNow(scope).catch((error) => Promise.reject(beforeWrites(error)));
        return addAttachment(scope, params.quoteId, { ...description, ...stored }, key);
      };
      const { kind, fileName, mimeType } = description;
      const sent = JSON.stringify([kind, fileName, mimeType, stored.sha256]);
      const response = await idempotent(request, reply, getAttachment, attach, sent).catch(async (error) => {
        if (isCertainlyUndone(error)) await discard(stored);
        throw error;
      });
      // A replay keeps the first file.
      if (reply.hasHeader('idempotency-replayed')) await discard(stored);
      const attachment = parseJson(response);
      return toJson({ ...attachment, url: await links.sign(scope, attachment, now) });
    },
  );
};
