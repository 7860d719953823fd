import { describe, expect, test } from 'vitest';
import { notFound } from '../../src/contract/errors.ts';
import {
  DatabaseTimeout,
  isCertainlyUndone,
  isDatabaseError,
  isSafeToRepeat,
  isTransient,
  type Phase,
  sqlState,
  violatedConstraint,
} from '../../src/db/pool/errors.ts';

const fromServer = (code: string, constraint?: string) =>
  Object.assign(new Error('of PostgreSQL'), { code, severity: 'ERROR', constraint });
const fromSocket = (code: string, syscall?: string) =>
  Object.assign(new Error('of a socket'), { code, syscall });

const timeout = (at: Phase) => {
  const spent = { queue: 0, connection: 0, running: 0, pause: 0 };
  return new DatabaseTimeout(4_500, { at, statements: 'customers.get', ...spent });
};

describe('what a failure of the database means: is it worth another try, is it safe to repeat, is it a fault', () => {
  test.each<[string, unknown, isTransient: boolean, isSafe: boolean, isFault: boolean]>([
    ['the connection broke', fromServer('08006'), true, false, true],
    ['an administrator ends it', fromServer('57P01'), true, false, true],
    ['the server crashed', fromServer('57P02'), true, false, true],
    ['the server starts or stops', fromServer('57P03'), true, true, true],
    ['no connection is left', fromServer('53300'), true, true, true],
    ['the disk is full', fromServer('53100'), false, false, true],
    ['the memory is full', fromServer('53200'), false, false, true],
    ['a deadlock', fromServer('40P01'), false, true, true],
    ['a serialization failure', fromServer('40001'), false, true, true],
    ['a statement timeout', fromServer('57014'), false, false, true],
    ['a lock timeout', fromServer('55P03'), false, false, true],
    ['a server that only reads', fromServer('25006'), false, true, true],
    ['a statement that is gone', fromServer('26000'), false, true, true],
    ['a plan of another form', fromServer('0A000'), false, true, false],
    ['a broken disk', fromServer('58030'), false, false, true],
    ['a broken index', fromServer('XX002'), false, false, true],
    ['a changed password', fromServer('28P01'), false, false, true],
    ['a database that is gone', fromServer('3D000'), false, false, true],
    ['a database that takes nobody', fromServer('55000'), false, false, true],
    ['nobody listens', fromSocket('ECONNREFUSED', 'connect'), true, true, true],
    ['no way there', fromSocket('EHOSTUNREACH', 'connect'), true, true, true],
    ['no such host', fromSocket('ENOTFOUND', 'getaddrinfo'), true, false, true],
    ['no such socket', fromSocket('ENOENT', 'connect'), true, true, true],
    ['reset while reading', fromSocket('ECONNRESET', 'read'), true, false, true],
    ['broken while writing', fromSocket('EPIPE', 'write'), true, false, true],
    ['ended', new Error('Connection terminated unexpectedly'), true, false, true],
    ['no connection in time', new Error('timeout exceeded when trying to connect'), true, false, true],
    ['a dead connection', new Error('Client has encountered … and is not queryable'), true, false, true],
    ['a frozen server', timeout('running'), false, false, true],
    ['words of an answer', notFound('CUSTOMER_NOT_FOUND', 'customer', 'terminated'), false, false, false],
    ['a taken value', fromServer('23505'), false, false, false],
    ['a value out of range', fromServer('22003'), false, false, false],
    ['a missing table', fromServer('42P01'), false, false, false],
    ['a mistake of ours', new TypeError('x is not a function'), false, false, false],
    ['no SQLSTATE', Object.assign(new Error('x'), { code: 'ERR_INVALID_ARG_TYPE' }), false, false, false],
    ['no error at all', undefined, false, false, false],
    ['text', 'ECONNREFUSED', false, false, false],
  ])('%s', (_name, error, ...expected) => {
    expect([isTransient(error), isSafeToRepeat(error), isDatabaseError(error)]).toEqual(expected);
  });
});

test('only an error of the server has an SQLSTATE, and only a violation names the constraint that it ran against', () => {
  expect(sqlState(fromServer('23505'))).toBe('23505');
  expect(sqlState(fromSocket('EPIPE'))).toBeUndefined();
  expect(sqlState(Object.assign(new Error('x'), { code: '23505' }))).toBeUndefined();
  expect(violatedConstraint(fromServer('23505', 'quotes_token_key'))).toBe('quotes_token_key');
  expect(violatedConstraint(fromServer('42P01', 'quotes_token_key'))).toBeUndefined();
});

test.each([
  ['queue', true],
  ['connection', true],
  ['pause', true],
  ['running', false],
] as const)('work that was given up at the %s is certainly undone: %s', (at, isUndone) => {
  expect(isCertainlyUndone(timeout(at))).toBe(isUndone);
});
