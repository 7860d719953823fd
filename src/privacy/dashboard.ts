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
        summary: 'Export what is known of a customer',
        description:
          'Everything that this API and /v1 show of the person, archived or not: its record, opportunities, quotes with signed links to their files, and conversations with all of their messages. It is streamed: an answer that ends before its last bracket was cut off, and is to be asked for again.',
        params,
        response: responses(
          { status: 200, schema: CustomerExport, description: 'All of it, as one JSON object.' },
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
          'What the person said and what is known of it is gone for good, archived customer or not: contacts, names, messages, the texts of its opportunities and quotes, and the files of its quotes. The record stays, archived and empty, so that numbers stay as they are. The same again erases what came since, and gives the first answer. Until the storage has let go of every file, `erasurePending` of the customer is true.',
        params,
        response: responses(
          { status: 200, schema: ErasedCustomer, description: 'How much was erased, by kind.' },
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
