import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { portOf } from './socket.ts';

const bucket = 'attachments';
const region = 'eu-west-1';
/** What the SDK finds. */
const variables = { AWS_REGION: region, AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test' };
const PAGE = 2;

type Answer = [status: number, body?: string | Buffer, headers?: Record<string, string>];
const NOT_FOUND: Answer = [404, '<Error><Code>NoSuchKey</Code></Error>'];
const FORBIDDEN: Answer = [403, '<Error><Code>SignatureDoesNotMatch</Code></Error>'];

/** Whether query or header name the right key and region, and a signed URL is still valid. The signature is not verified. */
function isSigned({ headers }: IncomingMessage, query: URLSearchParams): boolean {
  const [, credential] = /Credential=([^,]+)/.exec(headers.authorization ?? '') ?? [];
  const [keyId, , ...service] = (credential ?? query.get('X-Amz-Credential') ?? '').split('/');
  const from = (query.get('X-Amz-Date') ?? '').replace(
    /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/,
    '$1-$2-$3T$4:$5:$6Z',
  );
  const isExpired = Date.parse(from) + Number(query.get('X-Amz-Expires')) * 1_000 < Date.now();
  return (
    !isExpired && keyId === variables.AWS_ACCESS_KEY_ID && service.join('/') === `${region}/s3/aws4_request`
  );
}

/** The part of S3 that the service uses, in memory. A page of a list has two objects. */
export async function startS3() {
  const objects = new Map<string, { content: Buffer; modifiedAt: Date }>();
  /** Multipart uploads that are neither completed nor aborted. */
  const uploads = new Map<string, Buffer[]>();

  function list(query: URLSearchParams): Answer {
    const prefix = query.get('prefix') ?? '';
    const after = query.get('continuation-token') ?? '';
    const matches = [...objects].filter(([key]) => key.startsWith(prefix) && key > after).sort();
    const page = matches.slice(0, PAGE).map(([key, { content, modifiedAt }]) => {
      const fields = `<Key>${key}</Key><LastModified>${modifiedAt.toISOString()}</LastModified>`;
      return `<Contents>${fields}<Size>${content.length}</Size></Contents>`;
    });
    const isTruncated = matches.length > PAGE;
    const next = isTruncated && `<NextContinuationToken>${matches[PAGE - 1]?.[0]}</NextContinuationToken>`;
    const state = `<IsTruncated>${isTruncated}</IsTruncated>${next || ''}`;
    return [200, `<ListBucketResult>${state}${page.join('')}</ListBucketResult>`];
  }

  function download(key: string, query: URLSearchParams): Answer {
    const headers = ['cache-control', 'content-disposition', 'content-type'].flatMap((name) => {
      const value = query.get(`response-${name}`);
      return value === null ? [] : [[name, value]];
    });
    const object = objects.get(key);
    return object ? [200, object.content, Object.fromEntries(headers)] : NOT_FOUND;
  }

  function store(key: string, content: Buffer): Answer {
    objects.set(key, { content, modifiedAt: new Date() });
    return [200, '', { etag: '"object"' }];
  }

  /** Takes a part of a multipart upload, completes it or aborts it. */
  function upload(method: string, key: string, query: URLSearchParams, content: Buffer): Answer {
    const id = query.get('uploadId') ?? '';
    const parts = uploads.get(id);
    if (!parts) return NOT_FOUND;
    if (method === 'PUT') {
      parts[Number(query.get('partNumber'))] = content;
      return [200, '', { etag: '"part"' }];
    }
    uploads.delete(id);
    if (method === 'DELETE') return [204];
    store(key, Buffer.concat(parts.filter(Boolean)));
    return [200, '<CompleteMultipartUploadResult><ETag>"all"</ETag></CompleteMultipartUploadResult>'];
  }

  async function respond(request: IncomingMessage): Promise<Answer> {
    const { pathname, searchParams: query } = new URL(request.url ?? '', 'http://localhost');
    const { method = '' } = request;
    if (!isSigned(request, query)) return FORBIDDEN;
    const key = decodeURIComponent(pathname).slice(`/${bucket}/`.length);
    const content = await buffer(request);
    if (query.has('uploadId')) return upload(method, key, query, content);
    if (query.has('uploads')) {
      const id = randomUUID();
      uploads.set(id, []);
      const body = `<InitiateMultipartUploadResult><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`;
      return [200, body];
    }
    if (method === 'PUT') return store(key, content);
    if (method === 'GET') return key === '' ? list(query) : download(key, query);
    objects.delete(key);
    return [204];
  }

  const server = createServer((request, response) => {
    respond(request).then(
      ([status, body, headers]) => response.writeHead(status, headers).end(body),
      (error) => response.destroy(error),
    );
  });
  return {
    endpoint: `http://127.0.0.1:${await portOf(server)}`,
    bucket,
    variables,
    openUploads: async () => [...uploads.keys()],
    close: async () => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}
