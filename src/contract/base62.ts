import { randomBytes } from 'node:crypto';

export const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** Random base62 characters, with the strength of `bytes` random bytes. */
export function randomBase62(bytes: number): string {
  const length = Math.ceil((bytes * 8) / Math.log2(BASE62.length));
  let text = '';
  for (let rest = BigInt(`0x${randomBytes(bytes).toString('hex')}`); text.length < length; rest /= 62n)
    text = BASE62.charAt(Number(rest % 62n)) + text;
  return text;
}
