import { Readable } from 'node:stream';
import type { FastifyPluginCallbackZod } from 'fastify-type-provider-zod';
import { ErasedCustomer } from '../customers/schema.ts';
import { knownParams } from '../dashboard/params.ts';
import type { FileLinks } from '../files/links.ts';
import type { FileStorage } from '../files/storage.ts';
import { idempotently } from '../http/idempotency.ts';
import { responses } from '../openapi/responses.ts';
import { filesOfCustomer, removeErasedFiles } from './erased-files.repository.ts';
import { eraseCustomer } from './erasure.repository.ts';
import { CustomerExport, exportCustomer } from './export.repository.ts';

/** What is known of a person reaches over customers, conversations, opportunities and quotes: so it has a room above theirs. */

const params = knownParams('customerId', 'Id of the customer.');

export const peopleDashboardRoutes: FastifyPluginCallbackZod<{ storage: FileStorage; links: FileLinks }> = (
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
          'Erases the data of a person for good, whether the customer is archived or not: contacts, names, messages, the texts of opportunities and quotes, and the files of quotes. The record stays, archived and empty, so that totals stay the same. Call it again to erase what arrived later; the response is that of the first call. While the storage still has a file, `erasurePending` of the customer is true.',
        params,
        response: responses(
          { status: 200, schema: ErasedCustomer, description: 'The number of erased records, by kind.' },
          'CUSTOMER_NOT_FOUND',
        ),
      },
    },
    async (request, reply) => {
      const { customerId } = request.params;
      const answer = await idempotently(request, reply, 200, (scope) => eraseCustomer(scope, customerId));
      await removeErasedFiles(
        request.scope.db,
        storage,
        await filesOfCustomer(request.scope, customerId),
        request.log,
      );
      return answer;
    },
  );
  done();
};
