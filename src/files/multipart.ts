import { Readable } from 'node:stream';
import multipart from '@fastify/multipart';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { type FieldError, invalid, validationFailed } from '../contract/errors.ts';
import { text } from '../contract/fields.ts';
import { reportIgnored } from '../http/ignored-parameters.ts';
import { pathOf, validate } from '../http/validation.ts';
import type { StoredFile } from './upload.ts';

export const AttachmentUpload = z.object({
  // What busboy makes of other bytes.
  kind: text({ min: 1, max: 255 })
    .refine((kind) => !kind.includes('\ufffd'), 'must be UTF-8')
    .meta({ examples: ['itinerary'] }),
  file: z.object(
    { fileName: text({ min: 1, max: 255 }), mimeType: text({ min: 1, max: 255 }) },
    'must be a file',
  ),
});

export type AttachmentDescription = { kind: string; fileName: string; mimeType: string };

/** `kind` has at most 255 characters of four bytes each; a longer one is cut, but still too long. */
const MAX_FIELD_BYTES = 4 * 256;

const MAX_PARTS = 20;

/** By the codes of @fastify/multipart. */
const REASONS: Record<string, string> = {
  FST_PARTS_LIMIT: `must have at most ${MAX_PARTS} parts`,
  FST_PROTO_VIOLATION:
    'must not have a part that is named like a property of every object, such as __proto__',
};

const MIME_TYPE = /^[\w!#$&^.+-]{1,127}\/[\w!#$&^.+-]{1,127}$/;

/** Lets the routes of this scope accept multipart bodies. `readUpload` rejects other content types. */
export async function acceptUploads(app: FastifyInstance): Promise<void> {
  await app.register(multipart, {
    limits: { fieldSize: MAX_FIELD_BYTES, fileSize: Infinity, parts: MAX_PARTS },
  });
  app.removeContentTypeParser('*');
  app.addContentTypeParser('*', (_request, _payload, done) => done(null));
}

/** Only what breaks while the body arrives is the client's mistake, not what its reader throws. */
async function* arriving<Item>(items: AsyncIterable<Item>): AsyncGenerator<Item> {
  const iterator = items[Symbol.asyncIterator]();
  try {
    for (;;) {
      const { done, value } = await iterator.next().catch(({ code }) => {
        throw invalid('body', REASONS[code] ?? 'must be well-formed multipart/form-data');
      });
      if (done) return;
      yield value;
    }
  } finally {
    await iterator.return?.();
  }
}

/**
 * Streams the file of an upload to `store`. If the upload is rejected, the stored file is discarded.
 * @throws VALIDATION_FAILED, and the errors of `store`
 */
export async function readUpload(
  request: FastifyRequest,
  reply: FastifyReply,
  store: (content: Readable) => Promise<StoredFile>,
  discard: (stored: StoredFile) => Promise<void>,
): Promise<{ stored: StoredFile; description: AttachmentDescription }> {
  if (!request.isMultipart()) throw invalid('body', 'must be sent as multipart/form-data');
  const sent: { kind?: unknown; file?: unknown } = {};
  const repeated: FieldError[] = [];
  const ignored: string[] = [];
  let stored: StoredFile | undefined;
  try {
    for await (const part of arriving(request.parts())) {
      const name = part.fieldname;
      if (name !== 'kind' && name !== 'file') ignored.push(`body.${name}`);
      else if (sent[name] !== undefined)
        repeated.push({ path: `body.${name}`, message: 'must not be repeated' });
      else if (part.type === 'field') sent[name] = part.value;
      else if (name === 'file') {
        const mimeType = MIME_TYPE.test(part.mimetype) ? part.mimetype : 'application/octet-stream';
        sent.file = { fileName: part.filename, mimeType };
        stored = await store(Readable.from(arriving<Buffer>(part.file), { objectMode: false }));
        continue;
      }
      if (part.type === 'file') part.file.resume();
    }
    reportIgnored(request, reply, ignored);
    const { data, error } = validate(AttachmentUpload, sent);
    if (data && stored && repeated.length === 0)
      return { stored, description: { kind: data.kind, ...data.file } };
    const errors = error?.issues.map(({ path, message }) => ({ path: pathOf('body', path), message })) ?? [];
    throw validationFailed([...errors, ...repeated]);
  } catch (error) {
    // Many clients read the response only after they have sent the whole body.
    request.raw.unpipe();
    request.raw.resume();
    if (stored) await discard(stored);
    throw error;
  }
}
