import { expect, test } from 'vitest';
import { createToken, type LinkSecrets, readToken } from '../../src/files/links.ts';

const NOW = Date.parse('2026-11-21T12:00:00.000Z');
const FILE = {
  organizationId: '01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17',
  attachmentId: '01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d18',
};
const CURRENT = { current: 'the current secret' };
const PREVIOUS = { current: 'the previous secret' };
const BOTH = { current: CURRENT.current, previous: PREVIOUS.current };

test.each<[string, signedWith: LinkSecrets, readWith: LinkSecrets, isValid: boolean]>([
  ['the same secret', CURRENT, CURRENT, true],
  ['the current secret beside a previous one', BOTH, CURRENT, true],
  ['the previous secret', PREVIOUS, BOTH, true],
  ['a secret that is no longer configured', PREVIOUS, CURRENT, false],
  ['another secret', { current: 'another secret' }, BOTH, false],
  ['an empty secret', { current: '' }, CURRENT, false],
])('a token that was signed with %s is valid or not', (_name, signedWith, readWith, isValid) => {
  expect(readToken(readWith, createToken(signedWith, FILE, NOW + 1), NOW)).toEqual(
    isValid ? FILE : undefined,
  );
});
