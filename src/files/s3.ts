import { DeleteObjectCommand, GetObjectCommand, paginateListObjectsV2, S3Client } from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import { create as contentDisposition } from 'content-disposition';
import { OperatorError } from '../contract/errors.ts';
import type { FileLinks } from './links.ts';
import { type FileStorage, storageKey, storedEntry, storing } from './storage.ts';

export type S3Options = {
  bucket: string;
  prefix: string;
  ttlSeconds: number;
  endpoint?: string | undefined;
};

/** A proxy's page is no error to the SDK: its list would be empty, and its upload stored nowhere. */
const notOfS3 = (): Error => new Error('The response does not come from an S3 store.');

/** Clients download from the store itself, with signed URLs. The SDK finds its credentials and region. */
export async function openS3({ bucket, prefix, ttlSeconds, endpoint }: S3Options) {
  const client = new S3Client({
    // Most self-hosted stores have no host name for each bucket.
    ...(endpoint !== undefined && { endpoint, forcePathStyle: true }),
    // Many stores do not support the checksums that the SDK sends by default.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    // The SDK tries a part three times, then the abort of the upload, and a proxy waits 60 s.
    requestHandler: { connectionTimeout: 3_000, socketTimeout: 5_000 },
  });
  // A wrong configuration fails at the start, not at the first upload.
  await Promise.all([client.config.region(), client.config.credentials()]).catch(({ message }) => {
    throw new OperatorError(`S3: ${message}. Set AWS_REGION, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY.`);
  });

  const storage: FileStorage = {
    put: (key, content) =>
      storing(content, async () => {
        const params = { Bucket: bucket, Key: prefix + key, Body: content };
        // One part of 5 MiB at a time, to limit the memory of an upload.
        const { ETag } = await new Upload({ client, params, queueSize: 1 }).done();
        if (ETag === undefined) throw notOfS3();
      }),
    async remove(key) {
      await client.send(new DeleteObjectCommand({ Bucket: bucket, Key: prefix + key }));
    },
    async *list(organizationId) {
      for await (const { Contents = [], IsTruncated } of paginateListObjectsV2(
        { client },
        { Bucket: bucket, Prefix: organizationId === undefined ? prefix : `${prefix}${organizationId}/` },
      )) {
        if (IsTruncated === undefined) throw notOfS3();
        for (const { Key = '', LastModified = new Date() } of Contents) {
          const entry = storedEntry(Key.slice(prefix.length), LastModified);
          if (entry) yield entry;
        }
      }
    },
  };

  const links: FileLinks = {
    sign: ({ organizationId }, { id, fileName, mimeType }, now) =>
      getSignedUrl(
        client,
        new GetObjectCommand({
          Bucket: bucket,
          Key: prefix + storageKey(organizationId, id),
          ResponseContentDisposition: contentDisposition(fileName),
          ResponseContentType: mimeType,
          ResponseCacheControl: 'no-store',
        }),
        { expiresIn: ttlSeconds, signingDate: new Date(now) },
      ),
  };
  return { storage, links, close: async () => client.destroy() };
}
