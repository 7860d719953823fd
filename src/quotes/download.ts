import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { create as contentDisposition } from 'content-disposition';
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { ApiError } from '../contract/errors.ts';
import { type Database, scopeTo } from '../db/index.ts';
import { readToken } from '../files/links.ts';
import { storageKey } from '../files/storage.ts';
import { setHeaders } from '../http/headers.ts';
import { callerOf } from '../http/request.ts';
import { findAttachment } from './attachments.repository.ts';

export type DownloadOptions = {
  db: Database;
  /** The folder of the disk storage. */
  root: string;
  secret: string;
};

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
      const content = await open(join(root, storageKey(file.organizationId, attachment.id)));
      const { size } = await content.stat();
      if (size !== attachment.sizeBytes) {
        await content.close();
        throw new Error(
          `The file of attachment ${attachment.id} has ${size} bytes, not ${attachment.sizeBytes}.`,
        );
      }
      return reply
        .headers({
          'content-type': attachment.mimeType,
          'content-length': attachment.sizeBytes,
          'content-disposition': contentDisposition(attachment.fileName),
        })
        .send(content.createReadStream());
    },
  );
};
