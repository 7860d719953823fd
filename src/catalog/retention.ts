/**
 * How long an archived product can be restored. After that it is purged. Restore and purge both ask this module, so
 * that no product is ever both or neither.
 */
export const RETENTION_DAYS = 30;

const DAY_MS = 24 * 60 * 60 * 1_000;

/**
 * The border between the two: a product archived before this moment is purged, one archived at it or later can be
 * restored. A day has 24 hours.
 * @param now milliseconds since 1970
 * @returns ISO 8601
 */
export const retainedSince = (now: number): string => new Date(now - RETENTION_DAYS * DAY_MS).toISOString();
