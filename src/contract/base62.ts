import { randomBytes } from 'node:crypto';

export const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** 32 random bytes, as 43 base62 characters. */
export function randomBase62(): string {
  let text = '';
  for (let rest = BigInt(`0x${randomBytes(32).toString('hex')}`); text.length < 43; rest /= 62n)
    text = BASE62.charAt(Number(rest % 62n)) + text;
  return text;
}
