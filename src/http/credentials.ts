/** The token or key that a request came with. Nothing here asks whether it is good. */

/** No more than the scheme: a pattern with the spaces at the end takes quadratic time on a header full of them. */
const BEARER = /^bearer +/i;

/** Whether a key came with the scheme of the other header. */
export const hasScheme = (key: string): boolean => BEARER.test(key);

/** The value of a header; null when it was sent twice with different values. Node itself would keep the first. */
function onlyValue(rawHeaders: readonly string[], wanted: string): string | undefined | null {
  let found: string | undefined;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name?.length !== wanted.length || name.toLowerCase() !== wanted) continue;
    const value = rawHeaders[index + 1];
    if (found !== undefined && found !== value) return null;
    found = value;
  }
  return found;
}

/** The token of the Authorization header; null when two were sent that differ. */
export function presentedToken(rawHeaders: readonly string[]): string | undefined | null {
  const value = onlyValue(rawHeaders, 'authorization');
  if (!value || !BEARER.test(value)) return value === null ? null : undefined;
  return value.replace(BEARER, '').trim() || undefined;
}

/** The key of the request, from either header; undefined when there is none, or two that differ. */
export function presentedKey(rawHeaders: readonly string[]): string | undefined {
  const token = presentedToken(rawHeaders);
  const header = onlyValue(rawHeaders, 'x-api-key');
  if (token === null || header === null) return undefined;
  const key = header?.trim() || undefined;
  if (token !== undefined && key !== undefined && token !== key) return undefined;
  return token ?? key;
}
