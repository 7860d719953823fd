import { send } from '@fastify/send';
import { create as contentDisposition } from 'content-disposition';
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { ApiError } from '../contract/errors.ts';
import { type Database, scopeTo } from '../db/index.ts';
import { readToken } from '../files/links.ts';
import { storageKey } from '../files/storage.ts';
import { callerOf } from '../http/caller.ts';
import { setHeaders } from '../http/headers.ts';
import { findAttachment } from './attachments.repository.ts';

export type DownloadOptions = {
  db: Database;
  /** The folder of the disk storage. */
  root: string;
  secret: string;
};

/** The file sender's own errors are HTML. */
function rejection(status: number, headers: Record<string, string>, attachmentId: string): Error {
  if (status === 416)
    return new ApiError('RANGE_NOT_SATISFIABLE', { contentRange: String(headers['Content-Range']) });
  if (status === 412) return new ApiError('PRECONDITION_FAILED', 'file');
  return new Error(`The file of attachment ${attachmentId} cannot be read (${status}).`);
}

/** `bytes=-65536` of a smaller file means all of it, which the file sender would reject. */
const isWhole = (range: string | undefined, size: number): boolean =>
  Number(/^bytes=-(\d+)$/.exec(range ?? '')?.[1]) > size;

/** The signed link alone gives access; API keys are ignored. */
export const downloadRoutes: FastifyPluginAsyncZod<DownloadOptions> = async (app, { db, root, secret }) => {
  setHeaders(app, 'credential');
  app.get(
    '/files/:token',
    { schema: { hide: true, params: z.object({ token: z.string() }) } },
    async (request, reply) => {
      const file = readToken(secret, request.params.token);
      if (!file) throw new ApiError('FILE_LINK_INVALID');
      const attachment = await findAttachment(
        scopeTo(db, file.organizationId, callerOf(request)),
        file.attachmentId,
        file.expiresAt,
      );
      if (!attachment) throw new ApiError('FILE_LINK_INVALID');
      if (isWhole(request.headers.range, attachment.sizeBytes)) delete request.raw.headers.range;
      const key = storageKey(file.organizationId, file.attachmentId);
      const { statusCode, headers, stream, type } = await send(request.raw, key, {
        root,
        cacheControl: false,
        index: false,
      });
      if (type === 'error') throw rejection(statusCode, headers, attachment.id);
      return reply
        .code(statusCode)
        .headers(headers)
        .header('content-type', attachment.mimeType)
        .header('content-disposition', contentDisposition(attachment.fileName))
        .send(stream);
    },
  );
};
