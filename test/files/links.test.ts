import { expect, test } from 'vitest';
import { createToken, type LinkSecrets, readToken } from '../../src/files/links.ts';

const NOW = Date.parse('2026-11-21T12:00:00.000Z');
const FILE = {
  organizationId: '01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17',
  attachmentId: '01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d18',
};
const BOTH = { current: 'the current secret', previous: 'the previous secret' };
const ALONE = { current: BOTH.current };

test.each<[string, LinkSecrets, LinkSecrets, boolean]>([
  ['its own secret', ALONE, ALONE, true],
  ['its current secret, beside a previous one', BOTH, ALONE, true],
  ['its previous secret', { current: BOTH.previous }, BOTH, true],
  ['a secret that it had long ago', { current: BOTH.previous }, ALONE, false],
  ['a secret of others', { current: 'a secret of others' }, BOTH, false],
  ['no secret', { current: '' }, ALONE, false],
])('whether it reads a token made with %s', (_name, made, has, isRead) => {
  expect(readToken(has, createToken(made, FILE, NOW + 1), NOW)).toEqual(isRead ? FILE : undefined);
});
