/** Without trailing spaces: a pattern that also trims takes quadratic time on a header full of spaces. */
const BEARER = /^bearer +/i;

/** Null if the header was sent twice with different values. Node itself takes the first. */
function onlyValue(rawHeaders: readonly string[], wanted: string): string | undefined | null {
  const values = rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === wanted);
  const [value, other] = new Set(values);
  return other === undefined ? value : null;
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
