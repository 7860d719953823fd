import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** The part of S3 that the service uses, in memory. A page of a list has two objects. */
export type S3Server = {
  endpoint: string;
  bucket: string;
  region: string;
  credentials: typeof CREDENTIALS;
  /** Multipart uploads that are neither completed nor aborted. */
  openUploads: () => Promise<string[]>;
  /** Sets an object's timestamp. */
  age: (key: string, modifiedAt: Date) => Promise<void>;
  close: () => Promise<void>;
};

const BUCKET = 'attachments';
const REGION = 'eu-west-1';
const CREDENTIALS = { accessKeyId: 'test', secretAccessKey: 'test' };

/** Whether the query or the Authorization header names the right key and region. The signature itself is not verified. */
function isSigned({ headers }: IncomingMessage, { searchParams }: URL): boolean {
  const [, credential] = /Credential=([^,]+)/.exec(headers.authorization ?? '') ?? [];
  const [keyId, , ...service] = (credential ?? searchParams.get('X-Amz-Credential') ?? '').split('/');
  return keyId === CREDENTIALS.accessKeyId && service.join('/') === `${REGION}/s3/aws4_request`;
}

/** A signed URL is valid for `X-Amz-Expires` seconds from `X-Amz-Date` on. */
function isExpired({ searchParams }: URL): boolean {
  const seconds = searchParams.get('X-Amz-Expires');
  const date = searchParams.get('X-Amz-Date') ?? '';
  const from = date.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z');
  return seconds !== null && Date.parse(from) + Number(seconds) * 1_000 < Date.now();
}

type Response = { status: number; headers?: Record<string, string>; body?: string | Buffer };

const PAGE = 2;
const NOT_FOUND: Response = { status: 404, body: '<Error><Code>NoSuchKey</Code></Error>' };
const FORBIDDEN: Response = { status: 403, body: '<Error><Code>SignatureDoesNotMatch</Code></Error>' };

export async function startS3(): Promise<S3Server> {
  const objects = new Map<string, { content: Buffer; modifiedAt: Date }>();
  const uploads = new Map<string, Map<number, Buffer>>();

  function store(key: string, content: Buffer): void {
    objects.set(key, { content, modifiedAt: new Date() });
  }

  function list({ searchParams }: URL): Response {
    const prefix = searchParams.get('prefix') ?? '';
    const after = searchParams.get('continuation-token') ?? '';
    const matches = [...objects].filter(([key]) => key.startsWith(prefix) && key > after).sort();
    const page = matches.slice(0, PAGE).map(([key, { content, modifiedAt }]) => {
      const fields = `<Key>${key}</Key><LastModified>${modifiedAt.toISOString()}</LastModified>`;
      return `<Contents>${fields}<Size>${content.length}</Size></Contents>`;
    });
    const next =
      matches.length > PAGE ? `<NextContinuationToken>${matches[PAGE - 1]?.[0]}</NextContinuationToken>` : '';
    const state = `<IsTruncated>${matches.length > PAGE}</IsTruncated>${next}`;
    return { status: 200, body: `<ListBucketResult>${state}${page.join('')}</ListBucketResult>` };
  }

  function download(key: string, { searchParams }: URL): Response {
    const content = objects.get(key)?.content;
    if (!content) return NOT_FOUND;
    const headers = Object.fromEntries(
      ['cache-control', 'content-disposition', 'content-type'].flatMap((name) => {
        const value = searchParams.get(`response-${name}`);
        return value === null ? [] : [[name, value]];
      }),
    );
    return { status: 200, headers, body: content };
  }

  /** A multipart upload: begins it, adds a part, completes it or aborts it. */
  function upload(method: string, key: string, { searchParams }: URL, content: Buffer): Response {
    const id = searchParams.get('uploadId') ?? randomUUID();
    const parts = searchParams.has('uploads') ? new Map<number, Buffer>() : uploads.get(id);
    if (!parts) return NOT_FOUND;
    if (method === 'PUT') {
      parts.set(Number(searchParams.get('partNumber')), content);
      return { status: 200, headers: { etag: '"part"' } };
    }
    if (searchParams.has('uploads')) {
      uploads.set(id, parts);
      const body = `<InitiateMultipartUploadResult><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`;
      return { status: 200, body };
    }
    uploads.delete(id);
    if (method === 'DELETE') return { status: 204 };
    const inOrder = [...parts].sort(([a], [b]) => a - b).map(([, part]) => part);
    store(key, Buffer.concat(inOrder));
    return {
      status: 200,
      body: '<CompleteMultipartUploadResult><ETag>"all"</ETag></CompleteMultipartUploadResult>',
    };
  }

  async function respond(request: IncomingMessage): Promise<Response> {
    const url = new URL(request.url ?? '', `http://${request.headers.host}`);
    const { method = '' } = request;
    if (!isSigned(request, url) || isExpired(url)) return FORBIDDEN;
    const key = decodeURIComponent(url.pathname).slice(`/${BUCKET}/`.length);
    const content = await buffer(request);
    if (url.searchParams.has('uploads') || url.searchParams.has('uploadId'))
      return upload(method, key, url, content);
    if (method === 'GET') return key === '' ? list(url) : download(key, url);
    if (method === 'PUT') store(key, content);
    else objects.delete(key);
    return { status: method === 'PUT' ? 200 : 204, headers: { etag: '"object"' } };
  }

  const server = createServer((request, response) => {
    respond(request).then(
      ({ status, headers, body }) => response.writeHead(status, headers).end(body),
      (error) => response.destroy(error),
    );
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    bucket: BUCKET,
    region: REGION,
    credentials: CREDENTIALS,
    age: async (key, modifiedAt) => {
      const object = objects.get(key);
      if (object) object.modifiedAt = modifiedAt;
    },
    openUploads: async () => [...uploads.keys()],
    close: async () => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}
