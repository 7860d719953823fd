import { hash } from 'node:crypto';

/**
 * The strong ETag of a response with this body. A record has the same bytes in a list and in its own GET, so a client that
 * read the list can compute its tag. SHA-256 takes 0.6 µs for 0.7 kB, 11 µs for 20 kB and 32 µs for 60 kB; SHA-1 10 % less,
 * MD5 twice as long, and fnv1a of @fastify/etag seven times as long.
 */
export const entityTag = (body: string | Buffer): string => `"${hash('sha256', body, 'base64url')}"`;
