import { expect, test } from 'vitest';
import { makeToken, readToken } from '../../src/files/links.ts';

const NOW = Date.parse('2026-11-21T12:00:00.000Z');
const FILE = {
  organizationId: '01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17',
  attachmentId: '01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d18',
};
const [CURRENT, PREVIOUS, OTHER] = ['the current secret', 'the previous secret', 'a secret of others'];

const tokenOf = (secret: string): string => makeToken({ current: secret }, FILE, NOW + 1);

test('a token is read with the secret that it was made with, or with the previous one, and with no other', () => {
  const both = { current: CURRENT, previous: PREVIOUS };
  expect(readToken(both, tokenOf(CURRENT), NOW)).toEqual(FILE);
  expect(readToken(both, tokenOf(PREVIOUS), NOW)).toEqual(FILE);
  expect(readToken(both, tokenOf(OTHER), NOW)).toBeUndefined();
});

test('a service that has no previous secret refuses what others made, and does not fail', () => {
  const one = { current: CURRENT };
  expect(readToken(one, tokenOf(CURRENT), NOW)).toEqual(FILE);
  expect(readToken(one, tokenOf(PREVIOUS), NOW)).toBeUndefined();
  expect(readToken(one, tokenOf(''), NOW)).toBeUndefined();
});

test('a token is made with the current secret, whatever the previous one is', () => {
  const token = makeToken({ current: CURRENT, previous: PREVIOUS }, FILE, NOW + 1);
  expect(token).toBe(tokenOf(CURRENT));
});
