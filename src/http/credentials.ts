/** Without trailing spaces: a pattern that also trims takes quadratic time on a header full of spaces. */
const BEARER = /^bearer +/i;

/** Null if the header was sent twice with different values. Node itself takes the first. */
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

export function presentedToken(rawHeaders: readonly string[]): string | undefined | null {
  const value = onlyValue(rawHeaders, 'authorization');
  if (!value || !BEARER.test(value)) return value === null ? null : undefined;
  return value.replace(BEARER, '').trim() || undefined;
}

export function presentedKey(rawHeaders: readonly string[]): string | undefined {
  const token = presentedToken(rawHeaders);
  const header = onlyValue(rawHeaders, 'x-api-key');
  if (token === null || header === null) return undefined;
  const key = header?.trim() || undefined;
  if (token !== undefined && key !== undefined && token !== key) return undefined;
  return token ?? key;
}
