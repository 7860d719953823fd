import { beforeAll, expect, test, vi } from 'vitest';
import { presentedKey } from '../../src/http/credentials.ts';
import { type Agency, useService } from '../support/service.ts';
import { UNAUTHORIZED } from '../support/unauthorized.ts';

const service = useService();

let agency: Agency;
beforeAll(async () => {
  agency = await service.agency();
});

test.each<[string, string[]]>([
  ['Authorization', ['authorization', 'Bearer abc']],
  ['Authorization in any case', ['Authorization', 'bEARER abc']],
  ['Authorization with spaces', ['authorization', 'Bearer   abc  ']],
  ['x-api-key with spaces', ['X-Api-Key', ' abc ']],
  ['both headers', ['authorization', 'Bearer abc', 'x-api-key', 'abc']],
  ['x-api-key beside the password of a proxy', ['authorization', 'Basic eDp5', 'x-api-key', 'abc']],
  ['x-api-key beside an empty Bearer', ['authorization', 'Bearer ', 'x-api-key', 'abc']],
  ['Authorization beside an empty x-api-key', ['authorization', 'Bearer abc', 'x-api-key', '']],
  ['the same header twice', ['Authorization', 'Bearer abc', 'authorization', 'Bearer abc']],
])('a key is read from %s', (_place, rawHeaders) => {
  expect(presentedKey(rawHeaders)).toBe('abc');
});

test.each<[string, string[]]>([
  ['no header', []],
  ['two keys that differ in case', ['authorization', 'Bearer abc', 'x-api-key', 'ABC']],
  ['two keys in Authorization', ['Authorization', 'Bearer abc', 'Authorization', 'Bearer abd']],
  ['two keys in x-api-key', ['X-Api-Key', 'abc', 'x-api-key', 'abd']],
  ['a key and a password', ['Authorization', 'Bearer abc', 'Authorization', 'Basic eDp5']],
  ['two passwords beside a key', ['authorization', 'A x', 'authorization', 'B', 'x-api-key', 'a']],
  ['only a password', ['authorization', 'Basic eDp5']],
  ['no scheme', ['authorization', 'abc']],
  ['no space after the scheme', ['authorization', 'Bearerabc']],
  ['an empty Bearer', ['authorization', 'Bearer']],
  ['an empty x-api-key', ['x-api-key', '']],
  ['other headers with names of the same length', ['x-trace-span1', 'Bearer x', 'x-api-kez', 'x']],
])('no key is read from %s', (_what, rawHeaders) => {
  expect(presentedKey(rawHeaders)).toBeUndefined();
});

const { noKey, incomplete } = UNAUTHORIZED;
test.each<[string, object, headers: Record<string, string>, url?: string]>([
  ['without Bearer', noKey, { authorization: 'KEY' }],
  ['with Bearer twice', incomplete, { authorization: 'Bearer Bearer KEY' }],
  ['in a cookie', noKey, { cookie: 'k=KEY' }],
  ['in the URL', noKey, {}, '/v1/team?api_key=KEY'],
  ['beside another key', noKey, { authorization: 'Bearer KEYx', 'x-api-key': 'KEY' }],
])('an active key sent %s is 401, and the message says how to send it', async (_how, body, headers, url) => {
  const sent = JSON.stringify({ url: url ?? '/v1/team', headers }).replaceAll('KEY', agency.key);
  const response = await service.app.inject(JSON.parse(sent));
  expect(response).toMatchObject({ statusCode: 401, headers: { 'www-authenticate': 'Bearer' } });
  expect(response.json()).toEqual(body);
});

test('a key with a wrong checksum is rejected without a lookup', async () => {
  const find = vi.spyOn(service.keys, 'find');
  const key = agency.key.slice(0, -1) + (agency.key.endsWith('0') ? '1' : '0');
  expect((await agency.get('/v1/team', { key })).body).toEqual(incomplete);
  expect(find).not.toHaveBeenCalled();
});
