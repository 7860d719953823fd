import { Readable } from 'node:stream';
import type { FastifyPluginCallbackZod } from 'fastify-type-provider-zod';
import { Customer } from '../customers/schema.ts';
import { knownParams } from '../dashboard/params.ts';
import type { FileLinks } from '../files/links.ts';
import type { FileStorage } from '../files/storage.ts';
import { idempotently } from '../http/idempotency.ts';
import { responses } from '../openapi/responses.ts';
import { filesOfCustomer, removeErasedFiles } from './erased-files.repository.ts';
import { eraseCustomer } from './erasure.repository.ts';
import { CustomerExport, exportCustomer } from './export.repository.ts';
import { mergeCustomer } from './merge.repository.ts';
import { CustomerMerge, ErasedCustomer } from './schema.ts';

/** Operations on a person reach over customers, conversations, opportunities and quotes: so their folder is above these. */

const params = knownParams('customerId', 'Id of the customer.');

export const privacyDashboardRoutes: FastifyPluginCallbackZod<{ storage: FileStorage; links: FileLinks }> = (
  app,
  { storage, links },
  done,
) => {
  app.get(
    '/customers/:customerId/export',
    {
      config: { credential: true },
      schema: {
        operationId: 'exportCustomer',
        summary: 'Export the data of a customer',
        description:
          'Everything that this API and /v1 show about the person, archived or not: the record, opportunities, quotes with signed links to their files, and conversations with all messages. It is streamed: if the response is not complete JSON, ask again.',
        params,
        response: responses(
          { status: 200, schema: CustomerExport, description: 'Everything, as one JSON object.' },
          'CUSTOMER_NOT_FOUND',
        ),
      },
    },
    async (request, reply) => {
      const parts = await exportCustomer(request.scope, request.params.customerId, links);
      reply.type('application/json; charset=utf-8');
      // A stream is sent as it is. The schema of the answer is for the document, and the tests hold it to that.
      return Readable.from(parts, { objectMode: false }) as never;
    },
  );

  app.post(
    '/customers/:customerId/erase',
    {
      schema: {
        operationId: 'eraseCustomer',
        summary: 'Erase a customer',
        description:
          'What the person said and what is known of it is gone for good, archived customer or not, and of every customer that was merged with this one: contacts, names, messages, the texts of its opportunities and quotes, and the files of its quotes. The record stays, archived and empty, so that numbers stay as they are. The same again erases what came since, and gives the first answer. Until the storage has let go of every file, `erasurePending` of the customer is true.',
        params,
        response: responses(
          { status: 200, schema: ErasedCustomer, description: 'The number of erased records, by kind.' },
          'CUSTOMER_NOT_FOUND',
        ),
      },
    },
    async (request, reply) => {
      const { customerId } = request.params;
      const response = await idempotently(request, reply, 200, (scope) => eraseCustomer(scope, customerId));
      await removeErasedFiles(
        request.scope.db,
        storage,
        await filesOfCustomer(request.scope, customerId),
        request.log,
      );
      return response;
    },
  );

  app.post(
    '/customers/:customerId/merge',
    {
      schema: {
        operationId: 'mergeCustomer',
        summary: 'Merge another customer into a customer',
        description:
          'Two customers of one person become one. The customer keeps its fields and gets those of `from` where its own are null, the contacts, tags and summary of both, and the opportunities, conversations and quotes of `from`. `from` is archived: its 404 in /v1 names this customer. All or nothing: a customer that would have more than 50 contacts, 100 tags or 50,000 characters of summary is 400. The same call again changes nothing.',
        params,
        body: CustomerMerge,
        response: responses(
          { status: 200, schema: Customer, description: 'The customer as it is now.' },
          'CUSTOMER_NOT_FOUND',
        ),
      },
    },
    async (request, reply) =>
      idempotently(request, reply, 200, (scope) =>
        mergeCustomer(scope, request.params.customerId, request.body),
      ),
  );
  done();
};
