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

export type LinkSecrets = {
  current: string;
  /** Still accepted, so that a new secret does not break links in use. */
  previous?: string | undefined;
};

const ID_BYTES = 16;
const PAYLOAD_BYTES = 2 * ID_BYTES + 6;
const SIGNATURE_BYTES = 32;

const idToBytes = (id: string): Buffer => Buffer.from(id.replaceAll('-', ''), 'hex');
const bytesToId = (bytes: Buffer): string =>
  bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');

const signature = (secret: string, payload: Buffer): Buffer =>
  createHmac('sha256', secret).update(payload).digest();

/**
 * Organization, attachment and expiry, with an HMAC-SHA256 over them, in base64url.
 * @param expiresAt milliseconds since 1970
 */
export function createToken(secrets: LinkSecrets, file: LinkedFile, expiresAt: number): string {
  const payload = Buffer.alloc(PAYLOAD_BYTES);
  idToBytes(file.organizationId).copy(payload, 0);
  idToBytes(file.attachmentId).copy(payload, ID_BYTES);
  payload.writeUIntBE(expiresAt, 2 * ID_BYTES, 6);
  return Buffer.concat([payload, signature(secrets.current, payload)]).toString('base64url');
}

/** Undefined if the token is not valid. It may have expired. */
export function readToken(
  secrets: LinkSecrets,
  token: string,
): (LinkedFile & { expiresAt: number }) | undefined {
  const bytes = Buffer.from(token, 'base64url');
  // Several base64url texts decode to the same bytes; only one is accepted.
  if (bytes.length !== PAYLOAD_BYTES + SIGNATURE_BYTES || bytes.toString('base64url') !== token)
    return undefined;
  const payload = bytes.subarray(0, PAYLOAD_BYTES);
  const signed = bytes.subarray(PAYLOAD_BYTES);
  const accepted = [secrets.current, ...(secrets.previous === undefined ? [] : [secrets.previous])];
  if (!accepted.some((secret) => timingSafeEqual(signature(secret, payload), signed))) return undefined;
  return {
    organizationId: bytesToId(payload.subarray(0, ID_BYTES)),
    attachmentId: bytesToId(payload.subarray(ID_BYTES, 2 * ID_BYTES)),
    expiresAt: payload.readUIntBE(2 * ID_BYTES, 6),
  };
}

export const ownLinks = (options: {
  secrets: LinkSecrets;
  publicUrl: string;
  ttlSeconds: number;
}): FileLinks => ({
  sign: ({ organizationId }, { id }, now) => {
    const expiresAt = now + options.ttlSeconds * 1_000;
    return `${options.publicUrl}/files/${createToken(options.secrets, { organizationId, attachmentId: id }, expiresAt)}`;
  },
});
