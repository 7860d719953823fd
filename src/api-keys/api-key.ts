import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { BASE62, randomBase62 } from '../contract/base62.ts';

/**
 * The form of an API key: `tcrm_`, 32 random bytes as 43 base62 characters, `_`, and a CRC-32 of all that as 6 base62
 * characters. The checksum rejects typing errors and invented keys without a query, and lets a secret scanner be certain.
 */

/** Secret scanners look for this prefix. It never changes. */
const PREFIX = 'tcrm_';

const FORM = /^tcrm_[0-9A-Za-z]{43}_[0-9A-Za-z]{6}$/;
const CHECKSUM_LENGTH = 6;

/** A CRC-32 in base62. Every request needs one, and numbers of this size do without BigInt. */
function checksum(body: string): string {
  let text = '';
  for (let rest = crc32(body); text.length < CHECKSUM_LENGTH; rest = Math.floor(rest / 62))
    text = BASE62.charAt(rest % 62) + text;
  return text;
}

/** A new key. Its owner sees it once; we keep only its hash. */
export function generateKey(): string {
  const body = PREFIX + randomBase62(32);
  return `${body}_${checksum(body)}`;
}

/** True when the text has the form of a key, and the right checksum. The key may still not exist. */
export function isWellFormedKey(text: string): boolean {
  if (!FORM.test(text)) return false;
  const end = text.length - CHECKSUM_LENGTH;
  return checksum(text.slice(0, end - 1)) === text.slice(end);
}

/** Whether the text has a key in it, as far as its beginning shows. */
export const holdsKey = (text: string): boolean => text.includes(PREFIX);

/** What is stored of a key, in hexadecimal digits. A key is random enough for a SHA-256 without a salt. */
export const hashKey = (key: string): string => hash('sha256', key);

/** The characters by which a person recognises a key. */
export const recognisable = (key: string): { start: string; last4: string } => ({
  start: key.slice(0, PREFIX.length + 6),
  last4: key.slice(-4),
});
