import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { BASE62, randomBase62 } from '../contract/base62.ts';

/**
 * An API key is `tcrm_`, 32 random bytes as 43 base62 characters, `_`, and a CRC-32 of all that as 6 base62 characters.
 * The checksum rejects mistyped keys without a query, and saves secret scanners false positives.
 */

/** Secret scanners look for this prefix. It never changes. */
const PREFIX = 'tcrm_';

const FORM = /^tcrm_[0-9A-Za-z]{43}_[0-9A-Za-z]{6}$/;
const CHECKSUM_LENGTH = 6;

/** Runs for every request, so without BigInt. */
function checksum(body: string): string {
  let text = '';
  for (let rest = crc32(body); text.length < CHECKSUM_LENGTH; rest = Math.floor(rest / 62))
    text = BASE62.charAt(rest % 62) + text;
  return text;
}

export function generateKey(): string {
  const body = PREFIX + randomBase62();
  return `${body}_${checksum(body)}`;
}

export function isWellFormedKey(text: string): boolean {
  if (!FORM.test(text)) return false;
  const end = text.length - CHECKSUM_LENGTH;
  return checksum(text.slice(0, end - 1)) === text.slice(end);
}

/** Hexadecimal. A key is random enough for SHA-256 without a salt. */
export const hashKey = (key: string): string => hash('sha256', key);
