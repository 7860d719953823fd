/** For how long an archived product can be restored. Then it is purged. */
export const RETENTION_DAYS = 30;

const DAY_MS = 24 * 60 * 60 * 1_000;

/**
 * A product archived before this timestamp is purged.
 * @param now milliseconds since 1970
 * @returns ISO 8601
 */
export const retainedSince = (now: number): string => new Date(now - RETENTION_DAYS * DAY_MS).toISOString();
