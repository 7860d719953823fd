import { createHash, createHmac } from 'node:crypto';

/** AWS Signature Version 4, written from its description: what the tests hold the SDK's signatures against. */

export type Credentials = { accessKeyId: string; secretAccessKey: string };

export type SignedParts = {
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

const amzTime = (now: number): string => new Date(now).toISOString().replace(/[-:]|\.\d{3}/g, '');

const scopeOf = (time: string, region: string): string => `${time.slice(0, 8)}/${region}/s3/aws4_request`;

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
  const scope = scopeOf(time, region);
  const text = ['AWS4-HMAC-SHA256', time, scope, createHash('sha256').update(request).digest('hex')].join(
    '\n',
  );
  const key = scope.split('/').reduce<string | Buffer>(hmac, `AWS4${secretAccessKey}`);
  return hmac(key, text).toString('hex');
}

/** The URL that lets whoever has it GET the address until it expires. */
export function presignedUrl(
  address: string,
  query: Record<string, string>,
  options: { credentials: Credentials; region: string; now: number; seconds: number },
): string {
  const { credentials, region, now, seconds } = options;
  const { origin, host, pathname } = new URL(address);
  const time = amzTime(now);
  const signed: [string, string][] = Object.entries({
    ...query,
    'X-Amz-Algorithm': 'AWS4-HMAC-SHA256',
    'X-Amz-Content-Sha256': 'UNSIGNED-PAYLOAD',
    'X-Amz-Credential': `${credentials.accessKeyId}/${scopeOf(time, region)}`,
    'X-Amz-Date': time,
    'X-Amz-Expires': String(seconds),
    'X-Amz-SignedHeaders': 'host',
  });
  const signature = signatureOf(
    {
      method: 'GET',
      path: pathname,
      query: signed,
      headers: { host },
      payloadHash: 'UNSIGNED-PAYLOAD',
      time,
      region,
    },
    credentials.secretAccessKey,
  );
  return `${origin}${pathname}?${queryString([...signed, ['X-Amz-Signature', signature]])}`;
}
