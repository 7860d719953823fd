import { createHmac, timingSafeEqual } from 'node:crypto';
import type { OrganizationScope } from '../db/index.ts';

export type LinkedFile = { organizationId: string; attachmentId: string };

export type FileLinks = {
  sign: (
    scope: OrganizationScope,
    attachment: { id: string; fileName: string; mimeType: string },
    /** The database's clock, which all instances share: milliseconds since 1970. */
    now: number,
  ) => string | Promise<string>;
};

/**
 * Organization, attachment and expiry, with an HMAC-SHA256 over them.
 * @param expiresAt milliseconds since 1970
 */
export function createToken(secret: string, file: LinkedFile, expiresAt: number): string {
  const payload = `${file.organizationId}.${file.attachmentId}.${Math.floor(expiresAt)}`;
  return `${payload}.${createHmac('sha256', secret).update(payload).digest('base64url')}`;
}

/** Undefined if the token is not valid. It may have expired. */
export function readToken(secret: string, token: string): (LinkedFile & { expiresAt: number }) | undefined {
  const [organizationId = '', attachmentId = '', end] = token.split('.', 3);
  const read = { organizationId, attachmentId, expiresAt: Number(end) };
  const [given, valid] = [token, createToken(secret, read, read.expiresAt)].map((text) => Buffer.from(text));
  return given && valid && given.length === valid.length && timingSafeEqual(given, valid) ? read : undefined;
}

export const ownLinks = (secret: string, publicUrl: string, ttlSeconds: number): FileLinks => ({
  sign: ({ organizationId }, { id }, now) => {
    const token = createToken(secret, { organizationId, attachmentId: id }, now + ttlSeconds * 1_000);
    return `${publicUrl}/files/${token}`;
  },
});
