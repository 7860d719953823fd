import { describe, expect, test } from 'vitest';
import {
  DatabaseTimeout,
  isCertainlyUndone,
  isDatabaseFault,
  isSafeToRepeat,
  isTransient,
  type Phase,
  sqlState,
  violatedConstraint,
} from '../../src/db/run/faults.ts';
import { notFound } from '../../src/errors.ts';

const fromServer = (code: string, constraint?: string) =>
  Object.assign(new Error('of PostgreSQL'), { code, severity: 'ERROR', constraint });
const fromSocket = (code: string, syscall?: string) =>
  Object.assign(new Error('of a socket'), { code, syscall });

const timeout = (at: Phase) =>
  new DatabaseTimeout(4_500, {
    at,
    statements: 'customers.get',
    line: 0,
    connection: 0,
    running: 0,
    pause: 0,
  });

type Verdict = { transient: boolean; repeat: boolean; fault: boolean };
const verdict = (error: unknown): Verdict => ({
  transient: isTransient(error),
  repeat: isSafeToRepeat(error),
  fault: isDatabaseFault(error),
});
const THE_REQUESTS = { transient: false, repeat: false, fault: false };

describe('what a failure of the database means', () => {
  test.each<[string, unknown, Verdict]>([
    ['the connection broke', fromServer('08006'), { transient: true, repeat: false, fault: true }],
    ['an administrator ends it', fromServer('57P01'), { transient: true, repeat: false, fault: true }],
    ['the server crashed', fromServer('57P02'), { transient: true, repeat: false, fault: true }],
    ['the server starts or stops', fromServer('57P03'), { transient: true, repeat: true, fault: true }],
    ['no connection is left', fromServer('53300'), { transient: true, repeat: true, fault: true }],
    ['the disk is full', fromServer('53100'), { transient: false, repeat: false, fault: true }],
    ['the memory is full', fromServer('53200'), { transient: false, repeat: false, fault: true }],
    ['a deadlock', fromServer('40P01'), { transient: false, repeat: true, fault: true }],
    ['a serialization failure', fromServer('40001'), { transient: false, repeat: true, fault: true }],
    ['a statement timeout', fromServer('57014'), { transient: false, repeat: false, fault: true }],
    ['a lock timeout', fromServer('55P03'), { transient: false, repeat: false, fault: true }],
    ['a server that only reads', fromServer('25006'), { transient: false, repeat: true, fault: true }],
    ['a statement that is gone', fromServer('26000'), { transient: false, repeat: true, fault: true }],
    ['a plan of another form', fromServer('0A000'), { transient: false, repeat: true, fault: false }],
    ['a broken disk', fromServer('58030'), { transient: false, repeat: false, fault: true }],
    ['a broken index', fromServer('XX002'), { transient: false, repeat: false, fault: true }],
    ['a changed password', fromServer('28P01'), { transient: false, repeat: false, fault: true }],
    ['a database that is gone', fromServer('3D000'), { transient: false, repeat: false, fault: true }],
    ['a database that takes nobody', fromServer('55000'), { transient: false, repeat: false, fault: true }],
    ['nobody listens', fromSocket('ECONNREFUSED', 'connect'), { transient: true, repeat: true, fault: true }],
    ['no way there', fromSocket('EHOSTUNREACH', 'connect'), { transient: true, repeat: true, fault: true }],
    ['no such host', fromSocket('ENOTFOUND', 'getaddrinfo'), { transient: true, repeat: false, fault: true }],
    ['no such socket', fromSocket('ENOENT', 'connect'), { transient: true, repeat: true, fault: true }],
    [
      'reset while reading',
      fromSocket('ECONNRESET', 'read'),
      { transient: true, repeat: false, fault: true },
    ],
    ['broken while writing', fromSocket('EPIPE', 'write'), { transient: true, repeat: false, fault: true }],
    [
      'ended',
      new Error('Connection terminated unexpectedly'),
      { transient: true, repeat: false, fault: true },
    ],
    [
      'no connection in time',
      new Error('timeout exceeded when trying to connect'),
      { transient: true, repeat: false, fault: true },
    ],
    [
      'a dead connection',
      new Error('Client has encountered a connection error and is not queryable'),
      { transient: true, repeat: false, fault: true },
    ],
    ['a frozen server', timeout('running'), { transient: false, repeat: false, fault: true }],
    [
      'an answer with the words of a broken connection',
      notFound('CUSTOMER_NOT_FOUND', 'customer', 'terminated'),
      THE_REQUESTS,
    ],
    ['a taken value', fromServer('23505'), THE_REQUESTS],
    ['a value out of range', fromServer('22003'), THE_REQUESTS],
    ['a missing table', fromServer('42P01'), THE_REQUESTS],
    ['a mistake of ours', new TypeError('x is not a function'), THE_REQUESTS],
    [
      'a code that is no SQLSTATE',
      Object.assign(new Error('x'), { code: 'ERR_INVALID_ARG_TYPE' }),
      THE_REQUESTS,
    ],
    ['no error at all', undefined, THE_REQUESTS],
    ['text', 'ECONNREFUSED', THE_REQUESTS],
  ])('%s', (_name, error, expected) => {
    expect(verdict(error)).toEqual(expected);
  });
});

test('only an error of the server has an SQLSTATE', () => {
  expect(sqlState(fromServer('23505'))).toBe('23505');
  expect(sqlState(fromSocket('EPIPE'))).toBeUndefined();
  expect(sqlState(Object.assign(new Error('x'), { code: '23505' }))).toBeUndefined();
});

test('only a violation names the constraint that it ran against', () => {
  expect(violatedConstraint(fromServer('23505', 'quotes_token_key'))).toBe('quotes_token_key');
  expect(violatedConstraint(fromServer('42P01', 'quotes_token_key'))).toBeUndefined();
});

test('work that was given up before it was sent is certainly undone, and other work is not', () => {
  for (const at of ['line', 'connection', 'pause'] as const)
    expect(isCertainlyUndone(timeout(at)), at).toBe(true);
  expect(isCertainlyUndone(timeout('running'))).toBe(false);
});
