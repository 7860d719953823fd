import { join } from 'node:path';
import type { Config } from '../config.ts';
import { ownLinks } from './links.ts';
import { persistedSecret } from './secret.ts';
import { diskStorage } from './storage.ts';

/** @param publicUrl where clients reach this service, for links to files on its disk */
export async function openFiles(config: Config, publicUrl: string) {
  const ttlSeconds = config.SIGNED_URL_TTL_SECONDS;
  if (config.FILE_STORAGE !== 'disk') {
    const { openS3 } = await import('./s3.ts');
    const endpoint = config.AWS_ENDPOINT_URL_S3;
    return { ...(await openS3({ ...config.FILE_STORAGE, ttlSeconds, endpoint })), serve: undefined };
  }
  const root = join(config.DATA_DIR, 'files');
  // Instances that share the files share the secret too.
  const secret = await persistedSecret(join(config.DATA_DIR, 'file-signing-secret'));
  return {
    storage: diskStorage(root),
    links: ownLinks(secret, publicUrl, ttlSeconds),
    /** The service itself serves the files of the disk storage. */
    serve: { root, secret },
    close: async () => undefined,
  };
}
