import pg from 'pg';
import { ApiError, OutcomeUnknown } from '../../contract/errors.ts';
import { LostRace } from './scope.ts';

/** PostgreSQL's five-character error code; undefined if PostgreSQL did not report the error. */
export const sqlState = (error: unknown): string | undefined =>
  error instanceof pg.DatabaseError ? error.code : undefined;

/** The violated constraint or unique index. */
export const violatedConstraint = (error: unknown): string | undefined =>
  error instanceof pg.DatabaseError ? error.constraint : undefined;

export const isUniqueViolation = (error: unknown): boolean => sqlState(error) === '23505';

/** A trigger of the migration rejected a record for its size. Its message says the size, and has no value of the record. */
export const isTooLarge = (error: unknown): boolean => sqlState(error) === 'TL001';

/** The statements of a transaction together took longer than its time limit: nothing was committed. */
export class DatabaseTimeout extends Error {
  override readonly message = 'The transaction exceeded its time limit.';
}

const CONNECTION_CODE = /^(E(CONNREFUSED|CONNRESET|PIPE|TIMEDOUT|HOSTUNREACH|NOTFOUND)|EAI_AGAIN)$/;
const CONNECTION_MESSAGE =
  /terminated|not queryable|read timeout|connection.*(closed|ended|timeout)|timeout.*connect/i;
const GOING_AWAY = /^(08...|57P0[1235]|53300)$/;

const isUnconnected = (error: unknown): boolean =>
  (Object(error) as NodeJS.ErrnoException).syscall === 'connect';

/** Not an ApiError: its message may contain the client's text. */
function isConnectionError(error: unknown): boolean {
  if (!(error instanceof Error) || error instanceof ApiError) return false;
  const { code = '', message } = error as NodeJS.ErrnoException;
  return isUnconnected(error) || CONNECTION_CODE.test(code) || CONNECTION_MESSAGE.test(message);
}

/** True if the same statement can soon succeed: the server restarts, or the connection broke. */
export function isTransient(error: unknown): boolean {
  const state = sqlState(error);
  return state === undefined ? isConnectionError(error) : GOING_AWAY.test(state);
}

/** The prepared statement is unknown or no longer fits its tables, or the server is read-only. */
const STALE = /^(26000|0A000|25006)$/;

export const breaksConnection = (error: unknown): boolean =>
  STALE.test(sqlState(error) ?? '') || isTransient(error);

/** True if the error proves that nothing was written, and a repeated attempt can succeed. */
export function isSafeToRepeat(error: unknown): boolean {
  const state = sqlState(error);
  if (state === undefined) return error instanceof LostRace || isUnconnected(error);
  return STALE.test(state) || /^(57P0[35]|53300|40001|40P01)$/.test(state);
}

/** True if the error proves that nothing was written. A broken connection proves nothing. */
export const isCertainlyUndone = (error: unknown): boolean =>
  (error instanceof ApiError && !(error instanceof OutcomeUnknown)) ||
  error instanceof DatabaseTimeout ||
  (sqlState(error) !== undefined && !isTransient(error));

/** True for an error that the request did not cause. The response is 503. */
export function isDatabaseError(error: unknown): boolean {
  if (error instanceof LostRace || error instanceof DatabaseTimeout) return true;
  const state = sqlState(error);
  if (state === undefined) return isConnectionError(error);
  return /^(08|26|28|3D|40|53|57|58|XX)|^55(000|P03)$|^25(006|P0[34])$/.test(state);
}

/** True if PostgreSQL ended the statement, or this service the transaction, because it took too long. */
export const isTimeout = (error: unknown): boolean =>
  error instanceof DatabaseTimeout ||
  /^(57014|55P03|25P04)$/.test(sqlState(error) ?? '') ||
  (error instanceof Error && error.message.includes('read timeout'));

export const isLockTimeout = (error: unknown): boolean => sqlState(error) === '55P03';
