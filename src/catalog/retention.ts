/** How long an archived product can be restored; after that it is purged. Both ask here, so that no product is ever both or neither. */
export const RETENTION_DAYS = 30;

const DAY_MS = 24 * 60 * 60 * 1_000;

/**
 * Products archived before this moment are past restoring and purged, those archived at it or later (30 days ago, to the
 * millisecond) can be restored. Days are of 24 hours.
 * @param now milliseconds since 1970
 * @returns ISO 8601
 */
export const retainedSince = (now: number): string => new Date(now - RETENTION_DAYS * DAY_MS).toISOString();
