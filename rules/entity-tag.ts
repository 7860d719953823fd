import { hash } from 'node:crypto';

/**
 * A strong tag of a body: the ETag of an answer with these bytes. A record in a list has the bytes of its own GET, so whoever
 * has read the list knows its tag. SHA-256 takes 0.6 µs for 0.7 kB, 11 µs for 20 kB and 32 µs for 60 kB. SHA-1 takes 10 % less,
 * MD5 twice as long, fnv1a of @fastify/etag seven times as long.
 */
export const entityTag = (body: string | Buffer): string => `"${hash('sha256', body, 'base64url')}"`;
