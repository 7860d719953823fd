import { ApiError } from '../../contract/errors.ts';
import { LostRace } from './scope.ts';

/** What an error of pg means. */

const field = (error: unknown, name: string): unknown =>
  typeof error === 'object' && error !== null ? (error as Record<string, unknown>)[name] : undefined;

const text = (error: unknown, name: string): string | undefined => {
  const value = field(error, name);
  return typeof value === 'string' ? value : undefined;
};

/** PostgreSQL's error code of five characters. Undefined for an error of the connection and for all other errors. */
export function sqlState(error: unknown): string | undefined {
  const code = text(error, 'code');
  return code !== undefined && /^[0-9A-Z]{5}$/.test(code) && text(error, 'severity') !== undefined
    ? code
    : undefined;
}

/** The violated constraint or unique index; for a column that must not be null, `table.column`. */
export function violatedConstraint(error: unknown): string | undefined {
  if (!sqlState(error)?.startsWith('23')) return undefined;
  const column = text(error, 'column');
  return text(error, 'constraint') ?? (column && `${text(error, 'table')}.${column}`);
}

export const isUniqueViolation = (error: unknown): boolean => sqlState(error) === '23505';

/** What work waits for: its turn, a connection, PostgreSQL, or the next attempt after a transient error. */
export type Phase = 'queue' | 'connection' | 'running' | 'pause';

/** The whole milliseconds of each phase, the last phase, and the statement that was sent last. */
export type Spent = Record<Phase, number> & { at: Phase; statements: string };

/** Work took too long: the server is silent or overloaded. */
export class DatabaseTimeout extends Error {
  readonly spent: Spent;

  constructor(milliseconds: number, spent: Spent) {
    super(`The database took longer than ${milliseconds} ms.`);
    this.spent = spent;
  }
}

const CONNECTION_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ENOENT',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
]);
const CONNECTION_MESSAGE = /terminated|not queryable|connection.*(closed|ended|timeout)|timeout.*connect/i;
const NOT_ACCEPTING = new Set(['57P03', '53300']);
const GOING_AWAY = /^(08...|57P0[123]|53300)$/;

/** The message of an ApiError can repeat what a client sent. */
const isConnectionError = (error: unknown): boolean =>
  !(error instanceof ApiError) &&
  (CONNECTION_CODES.has(text(error, 'code') ?? '') || CONNECTION_MESSAGE.test(text(error, 'message') ?? ''));

/** True when the same statement can soon succeed: the server restarts, or the connection broke. */
export function isTransient(error: unknown): boolean {
  const state = sqlState(error);
  return state === undefined ? isConnectionError(error) : GOING_AWAY.test(state);
}

/** A prepared statement is gone, its result has another form than before, or the server is read-only. */
const STALE = new Set(['26000', '0A000', '25006']);

/** True when the connection must not be used again: it broke, or its prepared statements did. */
export const breaksConnection = (error: unknown): boolean =>
  STALE.has(sqlState(error) ?? '') || isTransient(error);

/** True when the error proves that nothing was written: the server accepted no connection, or rejected or undid the work. */
export function isSafeToRepeat(error: unknown): boolean {
  if (error instanceof LostRace) return true;
  const state = sqlState(error);
  if (state === '40001' || state === '40P01') return true;
  if (state !== undefined) return NOT_ACCEPTING.has(state) || STALE.has(state);
  return text(error, 'syscall') === 'connect';
}

/** True when the error proves that the write is undone. After a broken connection nobody knows. */
export const isCertainlyUndone = (error: unknown): boolean =>
  error instanceof ApiError ||
  // Nothing was sent.
  (error instanceof DatabaseTimeout && error.spent.at !== 'running') ||
  (sqlState(error) !== undefined && !isTransient(error));

/**
 * True for an error of the database, not of the request: it is out of reach, closed to the service, read-only, locked, too
 * slow, or out of connections or disk. The response is 503.
 */
export function isDatabaseError(error: unknown): boolean {
  if (error instanceof LostRace) return true;
  const state = sqlState(error);
  if (state === undefined) return isConnectionError(error) || error instanceof DatabaseTimeout;
  return /^(08|26|28|3D|40|53|57|58|XX)|^55(000|P03)$|^25006$/.test(state);
}

/** True when a lock was not free within `lock_timeout`. */
export const isLockTimeout = (error: unknown): boolean => sqlState(error) === '55P03';
