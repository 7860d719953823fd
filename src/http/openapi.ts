import { readFileSync } from 'node:fs';
import type { FastifyInstance } from 'fastify';
import type { z } from 'zod';
import { type ErrorCode, statusOf } from '../errors.ts';
import { setCacheControl } from './headers.ts';

/** The OpenAPI documents: how routes declare their answers, and the files that `npm run docs` makes of that (tools/openapi/). */

type Success = { status: 200 | 201; schema: z.ZodType; description: string };

/** One response of a route beside its successes: the codes of one status. */
export type OwnErrors = { codes: ErrorCode[] };

const ownErrors = (codes: readonly ErrorCode[]): Record<string, OwnErrors> =>
  Object.fromEntries(
    [...Map.groupBy(new Set(codes), statusOf)].map(([status, codes]) => [status, { codes }]),
  );

/**
 * The responses of an operation: its successes, and its own error codes. The document adds the codes of its class.
 */
export const responses = (success: Success | readonly Success[], ...codes: ErrorCode[]) => ({
  ...Object.fromEntries(
    [success]
      .flat()
      .map(({ status, schema, description }) => [
        status,
        { description, content: { 'application/json': { schema } } },
      ]),
  ),
  ...ownErrors(codes),
});

/** Where the service is reached, and whom its users ask, for the document. */
export type Publisher = {
  /** Where clients reach the service. Without it the document says: where it was read from. */
  publicUrl?: string | undefined;
  /** Whom integrators ask: an email address or a URL. */
  contact?: string | undefined;
};

type Published = { info: { contact: object }; servers: [{ url: string }] };

/**
 * Reads a document of the repository, and puts in who publishes it.
 * @param path from the root of the repository
 * @returns JSON, indented as the file
 */
export function publishedDocument(path: string, { publicUrl, contact }: Publisher): string {
  const text = readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
  if (publicUrl === undefined && contact === undefined) return text;
  const document = JSON.parse(text) as Published;
  if (publicUrl !== undefined) document.servers[0].url = publicUrl;
  if (contact !== undefined)
    Object.assign(document.info.contact, contact.startsWith('http') ? { url: contact } : { email: contact });
  return `${JSON.stringify(document, null, 2)}\n`;
}

/** Serves the document at /openapi.json. */
export function serveDocument(app: FastifyInstance, document: string): void {
  app.register((pages, _options, done) => {
    setCacheControl(pages, 'document');
    pages.get('/openapi.json', { schema: { hide: true } }, (_request, reply) =>
      reply.type('application/json; charset=utf-8').send(document),
    );
    done();
  });
}
