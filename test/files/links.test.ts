import { expect, test } from 'vitest';
import { createToken, readToken } from '../../src/files/links.ts';

const UNTIL = Date.parse('2026-11-21T12:00:00.000Z');
const FILE = {
  organizationId: '01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17',
  attachmentId: '01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d18',
};

test('a token is valid with the secret that signed it, and with no other', () => {
  const token = createToken('the secret', FILE, UNTIL);
  expect(readToken('the secret', token)).toEqual({ ...FILE, expiresAt: UNTIL });
  for (const other of ['another secret', '']) {
    expect(readToken(other, token)).toBeUndefined();
    expect(readToken('the secret', createToken(other, FILE, UNTIL))).toBeUndefined();
  }
});
