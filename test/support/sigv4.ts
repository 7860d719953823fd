import { createHash, createHmac } from 'node:crypto';

/** AWS Signature Version 4, written from its description: what the tests hold the SDK's signatures against. */

export type Credentials = { accessKeyId: string; secretAccessKey: string };

type SignedParts = {
  method: string;
  /** As it is sent. */
  path: string;
  /** Decoded names and values, without the signature. */
  query: [string, string][];
  /** Names in lower case; all of them are signed. */
  headers: Record<string, string>;
  payloadHash: string;
  /** `20261121T082500Z` */
  time: string;
  region: string;
};

const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();

/** encodeURIComponent leaves five characters alone that RFC 3986 reserves. */
const encode = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);

const queryString = (query: [string, string][]): string =>
  query
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
    .sort()
    .join('&');

export function signatureOf(parts: SignedParts, secretAccessKey: string): string {
  const { method, path, query, headers, payloadHash, time, region } = parts;
  const names = Object.keys(headers).sort();
  const request = [
    method,
    path,
    queryString(query),
    ...names.map((name) => `${name}:${(headers[name] ?? '').trim().replace(/ +/g, ' ')}`),
    '',
    names.join(';'),
    payloadHash,
  ].join('\n');
  const scope = `${time.slice(0, 8)}/${region}/s3/aws4_request`;
  const text = ['AWS4-HMAC-SHA256', time, scope, createHash('sha256').update(request).digest('hex')].join(
    '\n',
  );
  const key = scope.split('/').reduce<string | Buffer>(hmac, `AWS4${secretAccessKey}`);
  return hmac(key, text).toString('hex');
}
