import { expect, test } from 'vitest';
import { createToken, type LinkSecrets, readToken } from '../../src/files/links.ts';

const UNTIL = Date.parse('2026-11-21T12:00:00.000Z');
const FILE = {
  organizationId: '01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17',
  attachmentId: '01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d18',
};
const CURRENT = { current: 'the current secret' };
const PREVIOUS = { current: 'the previous secret' };
const BOTH = { current: CURRENT.current, previous: PREVIOUS.current };

test.each<[string, 'valid' | 'invalid', signedWith: LinkSecrets, readWith: LinkSecrets]>([
  ['the same secret', 'valid', CURRENT, CURRENT],
  ['the current secret beside a previous one', 'valid', BOTH, CURRENT],
  ['the previous secret', 'valid', PREVIOUS, BOTH],
  ['a secret that is no longer configured', 'invalid', PREVIOUS, CURRENT],
  ['another secret', 'invalid', { current: 'another secret' }, BOTH],
  ['an empty secret', 'invalid', { current: '' }, CURRENT],
])('a token that was signed with %s is %s', (_name, expected, signedWith, readWith) => {
  const read = readToken(readWith, createToken(signedWith, FILE, UNTIL));
  expect(read).toEqual(expected === 'valid' ? { ...FILE, expiresAt: UNTIL } : undefined);
});
