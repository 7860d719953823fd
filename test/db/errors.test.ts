import { globSync, readFileSync } from 'node:fs';
import pg from 'pg';
import { expect, test } from 'vitest';
import { ApiError } from '../../src/contract/errors.ts';
import {
  DatabaseTimeout,
  isCertainlyUndone,
  isDatabaseError,
  isSafeToRepeat,
  isTimeout,
  isTransient,
} from '../../src/db/index.ts';

const fromServer = (code: string) => Object.assign(new pg.DatabaseError('rejected', 0, 'error'), { code });
const fromSocket = (code: string, syscall: string) => Object.assign(new Error('broken'), { code, syscall });

const PROPERTIES = {
  transient: isTransient,
  repeatable: isSafeToRepeat,
  undone: isCertainlyUndone,
  timeout: isTimeout,
  database: isDatabaseError,
};

test.each<[what: string, error: unknown, properties: string]>([
  ['the connection broke', fromServer('08006'), 'transient database'],
  ['an administrator ended the connection', fromServer('57P01'), 'transient database'],
  ['the server crashed', fromServer('57P02'), 'transient database'],
  ['the server is starting or stopping', fromServer('57P03'), 'transient repeatable database'],
  ['the server ended a connection that was idle', fromServer('57P05'), 'transient repeatable database'],
  ['too many connections', fromServer('53300'), 'transient repeatable database'],
  ['the disk is full', fromServer('53100'), 'undone database'],
  ['a deadlock', fromServer('40P01'), 'repeatable undone database'],
  ['a serialization failure', fromServer('40001'), 'repeatable undone database'],
  ['a statement timeout', fromServer('57014'), 'undone timeout database'],
  ['a lock timeout', fromServer('55P03'), 'undone timeout database'],
  ['a timeout of a transaction', fromServer('25P04'), 'undone timeout database'],
  ['a transaction that was idle for too long', fromServer('25P03'), 'undone database'],
  ['a read-only server', fromServer('25006'), 'repeatable undone database'],
  ['an unknown prepared statement', fromServer('26000'), 'repeatable undone database'],
  ['a cached plan with another result type', fromServer('0A000'), 'repeatable undone'],
  ['a broken disk', fromServer('58030'), 'undone database'],
  ['a broken index', fromServer('XX002'), 'undone database'],
  ['a changed password', fromServer('28P01'), 'undone database'],
  ['a database that does not exist', fromServer('3D000'), 'undone database'],
  ['a database that accepts no connections', fromServer('55000'), 'undone database'],
  ['connection refused', fromSocket('ECONNREFUSED', 'connect'), 'transient repeatable database'],
  ['an expired certificate', fromSocket('CERT_HAS_EXPIRED', 'connect'), 'transient repeatable database'],
  ['no such host', fromSocket('ENOTFOUND', 'getaddrinfo'), 'transient database'],
  ['reset while reading', fromSocket('ECONNRESET', 'read'), 'transient database'],
  ['broken while writing', fromSocket('EPIPE', 'write'), 'transient database'],
  ['a connection timeout', new Error('timeout exceeded when trying to connect'), 'transient database'],
  ['a dead connection', new Error('Client has encountered … and is not queryable'), 'transient database'],
  ['a frozen server', new Error('Query read timeout'), 'transient timeout database'],
  ['a transaction that took too long', new DatabaseTimeout(), 'undone timeout database'],
  ['an API error with a word of those', new ApiError('CUSTOMER_NOT_FOUND', { id: 'terminated' }), 'undone'],
  ['a unique violation', fromServer('23505'), 'undone'],
  ['a programming error', new TypeError('x is not a function'), ''],
  ['no error at all', undefined, ''],
])('%s is %j: what follows from an error', (_what, error, properties) => {
  const found = Object.entries(PROPERTIES).filter(([, has]) => has(error));
  expect(found.map(([name]) => name).join(' ')).toBe(properties);
});

test('each connection has a listener for errors: without one, a broken connection ends the process', () => {
  const sources = globSync('src/**/*.ts').map((path) => readFileSync(path, 'utf8'));
  const connections = sources.flatMap((source) => source.split(/(?=new pg\.\w+\()/).slice(1));
  expect(connections.length).toBeGreaterThan(4);
  for (const each of connections) expect(each).toMatch(/\b(client|pool)\.on\('error'/);
});
