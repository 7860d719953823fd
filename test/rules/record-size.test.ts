import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { MAX_BYTES } from '../../rules/record-size.ts';
import { newId } from '../../src/db/index.ts';
import { useDashboard } from '../support/dashboard.ts';
import { rejected as invalid } from '../support/faults.ts';
import { conversation, web } from '../support/records.ts';

const { service, dashboard } = await useDashboard();

const MAX_RESPONSE = 13 * 1024 * 1024;
const bytesOf = (text: string): number => Buffer.byteLength(JSON.stringify(text)) - 2;
/** So many bytes of JSON: mostly of this character. */
const fill = (character: string, bytes: number): string =>
  character.repeat(bytes / bytesOf(character)) + 'x'.repeat(bytes % bytesOf(character));

const contacts = () => Array.from({ length: 20 }, () => web(`${randomUUID()}${'x'.repeat(260)}`));
const tags = Array.from({ length: 100 }, (_, index) => `${index}`.padEnd(100, 'x'));

/** A product or customer with this text in its longest fields, and changes that make it longer or shorter. */
const KINDS = {
  product: {
    path: '/v1/catalog/products',
    column: 'description',
    sent: (text: string) => {
      const parts = [0, 1, 2, 3].map((part) => text.slice(part * 40_000, (part + 1) * 40_000));
      return { title: 'x', variants: parts.map((description) => ({ label: 'x', description })) };
    },
    longer: { shortDescription: 'y'.repeat(1_100) },
    shorter: { title: 'y' },
  },
  customer: {
    path: '/v1/customers',
    column: 'summary',
    sent: (summary: string) => ({ summary, tags, contacts: contacts() }),
    longer: Object.fromEntries(
      ['city', 'country', 'lastName', 'firstName'].map((name) => [name, 'y'.repeat(250)]),
    ),
    shorter: { tags: [] },
  },
};
/** Four bytes of JSON for a character, and six. */
const ALPHABETS = ['😀', '\u0001'];

const tooLarge = (bytes: number, path = /^body\./) =>
  invalid([
    expect.stringMatching(path),
    expect.stringMatching(`^is too long: .* can have ${bytes} bytes, and would have \\d+$`),
  ]);

/** A response lacks some columns of the row, and has a little more punctuation. */
const TOLERANCE = 900;

test.each(['product', 'customer'] as const)(
  'a %s has at most the documented bytes, whoever writes it; the error of PostgreSQL has no text of it',
  async (kind) => {
    const { path, column, sent, longer, shorter } = KINDS[kind];
    const most = MAX_BYTES[kind];
    // A page has a hundred of them.
    expect(100 * (most + 1)).toBeLessThan(MAX_RESPONSE);
    const agency = await service.agency();
    for (const character of ALPHABETS) {
      const room = most - Buffer.byteLength((await agency.post(path, sent(''))).text);
      const rejected = await agency.post(path, sent(fill(character, room + 1)));
      expect(rejected).toMatchObject(tooLarge(most, /^body\.(variants|summary)$/));
      const excess = Number(/\d+$/.exec(rejected.body.error.details[0].message)) - most;
      // Timestamps that end in zeros are up to eight bytes shorter.
      const full = (await agency.post(path, sent(fill(character, room - excess - 9)))).body;
      expect((await agency.delete(`${path}/${full.id}`)).status).toBe(200);
      const restore = `${path.replace('/v1', '')}/${full.id}/restore`;
      expect((await dashboard.of(agency).post(restore)).body).toMatchObject({ id: full.id });
      // Without a body, the error names it all.
      for (const { identifierValue: contact } of full.contacts ?? []) {
        await agency.delete(`${path}/${full.id}`);
        await conversation(agency, { channel: 'web', contact, contactName: 'n'.repeat(99) });
        expect(await dashboard.of(agency).post(restore)).toMatchObject(tooLarge(most, /^body$/));
      }
      const { status, text, body } = await agency.post(path, sent(fill(character, room - TOLERANCE)));
      expect([status, Buffer.byteLength(text)]).toEqual([201, most - TOLERANCE]);
      const url = `${path}/${body.id}`;
      expect(await agency.patch(url, longer)).toMatchObject(tooLarge(most));
      const grow = `update ${path.split('/').at(-1)} set ${column} = concat(${column}, $2::text) where id = $1`;
      const values = [body.id, 'secret'.repeat(200)];
      const error = await service.query(grow, values).catch((error: unknown) => error);
      expect(error).toMatchObject({ code: 'TL001', detail: undefined, hint: undefined });
      expect(JSON.stringify(Object.entries(Object(error)))).not.toContain('secret');
      // A name for its contact, for which it has no space, changes nothing and rejects no conversation.
      const [{ identifierValue: sender } = { identifierValue: 'x' }] = body.contacts ?? [];
      await conversation(agency, { channel: 'web', contact: sender, contactName: '😀'.repeat(255) });
      expect((await agency.get(url)).text).toBe(text);
      expect((await agency.patch(url, shorter)).status).toBe(200);
    }
  },
);

const MESSAGE = { direction: 'inbound', messageType: 'text', senderName: 'ñ'.repeat(255) };

test.each(ALPHABETS)('a message of %j has at most the documented bytes', async (character) => {
  const agency = await service.agency();
  const { id } = await conversation(agency, { channel: 'web' });
  const url = `/conversations/${id}/messages`;
  const { put, post } = dashboard.of(agency);
  const content = fill(character, MAX_BYTES.message);
  const one = `${url}/${newId()}`;
  expect((await put(one, { ...MESSAGE, content })).status).toBe(201);
  const longer = { ...MESSAGE, content: `${content}x` };
  const delivery = { subject: 'x'.repeat(2_000) };
  const first = { ...MESSAGE, content: 'x'.repeat(MAX_BYTES.message - 1_000), delivery };
  const data = [first, longer].map((message) => ({ id: newId(), ...message }));
  expect(await put(one, longer)).toMatchObject(tooLarge(MAX_BYTES.message, /^body\.content$/));
  const inData = tooLarge(MAX_BYTES.message, /^body\.data\[1\]\.content$/);
  expect(await post(url, { data })).toMatchObject(inData);
  const { body, text } = await agency.get(`/v1${url}`);
  expect(body.data).toMatchObject([{ content }]);
  // A transcript has two hundred of them.
  expect(200 * Buffer.byteLength(text)).toBeLessThan(MAX_RESPONSE);
});
