import { Readable } from 'node:stream';
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { CustomerRecord, CustomerParams as params } from '../customers/schema.ts';
import type { FileLinks } from '../files/links.ts';
import type { FileStorage } from '../files/storage.ts';
import { removeFile } from '../files/upload.ts';
import { json } from '../http/records.ts';
import { ErasedCustomer, eraseCustomer } from './erase.ts';
import { CustomerExport, exportCustomer } from './export.ts';
import { CustomerMerge, mergeCustomer } from './merge.ts';

/** A folder of its own: these operations span customers, conversations, opportunities and quotes. */

export const personRoutes: FastifyPluginAsyncZod<{ storage: FileStorage; links: FileLinks }> = async (
  app,
  { storage, links },
) => {
  app.get(
    '/customers/:customerId/export',
    {
      config: { credential: true, errorCodes: ['CUSTOMER_NOT_FOUND'] },
      schema: {
        operationId: 'exportCustomer',
        summary: 'Export the data of a customer',
        description:
          'Everything that this API and /v1 return about the person, archived or not: the record, opportunities, quotes with signed links to their files, and conversations with all messages. The response is streamed: if it is not complete JSON, repeat the request.',
        params,
        response: { 200: json(CustomerExport, 'All data of the person, as one JSON object.') },
      },
    },
    async (request) => {
      const parts = await exportCustomer(request.scope, request.params.customerId, links);
      // For a HEAD, Fastify would read all of it. It sends a stream without its response schema; tests check the body against it.
      return Readable.from(request.method === 'HEAD' ? [] : parts, { objectMode: false }) as never;
    },
  );

  app.post(
    '/customers/:customerId/erase',
    {
      config: { errorCodes: ['CUSTOMER_NOT_FOUND'] },
      schema: {
        operationId: 'eraseCustomer',
        summary: 'Erase a customer',
        description:
          'Erases a customer, archived or not, and every customer merged with it, for good: names, contacts, messages, the texts of its opportunities and quotes, and the files of its quotes. The record stays, archived and empty, so that reports stay as they are. Call it again to erase what has arrived since in its conversations; the counts stay those of the first erasure. All or nothing: after a 503, send it again.',
        params,
        response: { 200: json(ErasedCustomer, 'The number of erased records, by kind.') },
      },
    },
    async (request) => {
      const { erasure, attachments } = await eraseCustomer(request.scope, request.params.customerId);
      // Of a storage that hangs, each call takes 15 s.
      await Promise.all(attachments.map((id) => removeFile(request, storage, id)));
      return erasure;
    },
  );

  app.post(
    '/customers/:customerId/merge',
    {
      config: { errorCodes: ['CUSTOMER_NOT_FOUND', 'CUSTOMER_CONTACT_CONFLICT'] },
      schema: {
        operationId: 'mergeCustomer',
        summary: 'Merge another customer into a customer',
        description:
          'Merges two customers that are the same person. The customer keeps its fields, gets those of `from` where its own are null, the contacts, tags and summary of both, and the opportunities, conversations and quotes of `from`. `from` is archived: its 404 in /v1 names this customer, and a write that names `from`, even at the same moment, is taken for this customer. An archived `from` is merged too, unless a third customer has one of its contacts: 409 `CUSTOMER_CONTACT_CONFLICT`; one that was merged or erased is 400. All or nothing: a customer that would have more than 50 contacts, 100 tags or 50,000 characters of summary is 400. Sending the same again changes nothing.',
        params,
        body: CustomerMerge,
        response: { 200: json(CustomerRecord, 'The customer as it is now.') },
      },
    },
    async (request) => mergeCustomer(request.scope, request.params.customerId, request.body),
  );
};
