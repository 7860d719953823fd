import { describe, expect, test } from 'vitest';
import { ApiError } from '../../src/contract/errors.ts';
import {
  DatabaseTimeout,
  isCertainlyUndone,
  isDatabaseError,
  isSafeToRepeat,
  isTimeout,
  isTransient,
} from '../../src/db/index.ts';

const fromServer = (code: string, constraint?: string) =>
  Object.assign(new Error('from PostgreSQL'), { code, severity: 'ERROR', constraint });
const NOT_FOUND = new ApiError('CUSTOMER_NOT_FOUND', { id: 'terminated' });
const fromSocket = (code: string, syscall?: string) =>
  Object.assign(new Error('from a socket'), { code, syscall });

describe('whether an error is transient, safe to repeat, and an error of the database', () => {
  test.each<[string, unknown, isTransient: boolean, isSafe: boolean, isDatabase: boolean]>([
    ['the connection broke', fromServer('08006'), true, false, true],
    ['an administrator ended the connection', fromServer('57P01'), true, false, true],
    ['the server crashed', fromServer('57P02'), true, false, true],
    ['the server is starting or stopping', fromServer('57P03'), true, true, true],
    ['too many connections', fromServer('53300'), true, true, true],
    ['the disk is full', fromServer('53100'), false, false, true],
    ['a deadlock', fromServer('40P01'), false, true, true],
    ['a serialization failure', fromServer('40001'), false, true, true],
    ['a statement timeout', fromServer('57014'), false, false, true],
    ['a lock timeout', fromServer('55P03'), false, false, true],
    ['a read-only server', fromServer('25006'), false, true, true],
    ['an unknown prepared statement', fromServer('26000'), false, true, true],
    ['a cached plan with another result type', fromServer('0A000'), false, true, false],
    ['a broken disk', fromServer('58030'), false, false, true],
    ['a broken index', fromServer('XX002'), false, false, true],
    ['a changed password', fromServer('28P01'), false, false, true],
    ['a database that does not exist', fromServer('3D000'), false, false, true],
    ['a database that accepts no connections', fromServer('55000'), false, false, true],
    ['connection refused', fromSocket('ECONNREFUSED', 'connect'), true, true, true],
    ['no route to the host', fromSocket('EHOSTUNREACH', 'connect'), true, true, true],
    ['no such host', fromSocket('ENOTFOUND', 'getaddrinfo'), true, false, true],
    ['no such socket', fromSocket('ENOENT', 'connect'), true, true, true],
    ['reset while reading', fromSocket('ECONNRESET', 'read'), true, false, true],
    ['broken while writing', fromSocket('EPIPE', 'write'), true, false, true],
    ['the connection terminated', new Error('Connection terminated unexpectedly'), true, false, true],
    ['a connection timeout', new Error('timeout exceeded when trying to connect'), true, false, true],
    ['a dead connection', new Error('Client has encountered … and is not queryable'), true, false, true],
    ['a frozen server', new Error('Query read timeout'), true, false, true],
    ['a transaction that took too long', new DatabaseTimeout(), false, false, true],
    ['an API error with a word of connection errors', NOT_FOUND, false, false, false],
    ['a unique violation', fromServer('23505'), false, false, false],
    ['a table that does not exist', fromServer('42P01'), false, false, false],
    ['a programming error', new TypeError('x is not a function'), false, false, false],
    ['no error at all', undefined, false, false, false],
  ])('%s', (_name, error, ...expected) => {
    expect([isTransient(error), isSafeToRepeat(error), isDatabaseError(error)]).toEqual(expected);
  });
});

test.each<[string, unknown, isTimeout: boolean, isUndone: boolean]>([
  ['a statement timeout', fromServer('57014'), true, true],
  ['a lock timeout', fromServer('55P03'), true, true],
  ['a transaction that took too long', new DatabaseTimeout(), true, true],
  ['a frozen server', new Error('Query read timeout'), true, false],
  ['a broken connection', fromSocket('ECONNRESET', 'read'), false, false],
  ['an ended connection', fromServer('57P01'), false, false],
])('%s: whether it is a timeout, and certainly undone', (_name, error, ...expected) => {
  expect([isTimeout(error), isCertainlyUndone(error)]).toEqual(expected);
});
