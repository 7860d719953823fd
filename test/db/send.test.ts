import { type AddressInfo, connect, createServer } from 'node:net';
import { TLSSocket } from 'node:tls';
import fc from 'fast-check';
import pg, { type QueryConfig } from 'pg';
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from 'vitest';
import { BytesClient, messagesIn } from '../../src/db/pool/bytes.ts';
import { send } from '../../src/db/pool/send.ts';
import type { Statement } from '../../src/db/sql/statement.ts';

/** Statements over one connection. */

const holder: { client?: pg.Client } = {};
const connected = (): pg.Client => {
  if (!holder.client) throw new Error('The client is connected before the first test.');
  return holder.client;
};
const ask = ({ name, text, values = [] }: QueryConfig, client = connected()) => {
  const statement = { name: name ?? '', text, params: values, isPrepared: name !== undefined };
  return send(client, statement as Statement<object, object>, {});
};

beforeAll(async () => {
  holder.client = new BytesClient({ connectionString: inject('serverUrl') });
  await holder.client.connect();
});
afterAll(() => holder.client?.end());

test.each([undefined, 'echo'])('answer the text that the server has, prepared as %s', async (name) => {
  const query = { text: 'select $1::text as body where $1 is distinct from $2', ...(name && { name }) };
  for (const text of ['', 'Peña 🏝️', 'x'.repeat(3_000_000)])
    expect(await ask({ ...query, values: [text, null] })).toEqual([{ body: text }]);
  expect(await ask({ ...query, values: [null, ''] })).toEqual([{ body: null }]);
  expect(await ask({ ...query, values: ['a', 'a'] })).toEqual([]);
});

test('values and rows have the types that pg gives them', async () => {
  const query = {
    name: 'types',
    text: `select $1::int as n, $2::boolean as b, $3::text[] as texts, $4::timestamptz as at, $5::bytea as bytes,
      $6::uuid[] as ids, $7::bytea[] as many, array[[1]] as nested, null::int as none`,
    values: [
      7,
      true,
      ['a "b"', 'c,\\', ''],
      new Date(1_000),
      Buffer.from([0, 255]),
      ['00000000-0000-7000-8000-000000000001'],
      [Buffer.from('a"\\'), Buffer.from([0])],
    ],
  };
  for (let round = 0; round < 2; round += 1)
    expect(await ask(query)).toEqual((await connected().query(query.text, query.values)).rows);
});

test('messages are whole and in their order, wherever the stream is cut', () => {
  const message = fc.tuple(fc.integer({ min: 1, max: 255 }), fc.uint8Array({ maxLength: 40 }));
  fc.assert(
    fc.property(fc.array(message), fc.array(fc.nat(9), { minLength: 1 }), (messages, sizes) => {
      const parts = messages.map(([code, body]) => {
        const head = Buffer.from([code, 0, 0, 0, 0]);
        head.writeUInt32BE(4 + body.length, 1);
        return Buffer.concat([head, body]);
      });
      const given: [number, number[]][] = [];
      const receive = messagesIn((code, offset, length, bytes) => {
        given.push([code, [...bytes.subarray(offset, offset + length - 4)]]);
      });
      let left = Buffer.concat(parts);
      for (let turn = 0; left.length > 0; turn += 1) {
        const size = 1 + (sizes[turn % sizes.length] ?? 0) * (turn % 3) ** 2;
        receive(left.subarray(0, size));
        left = left.subarray(size);
      }
      expect(given).toEqual(messages.map(([code, body]) => [code, [...body]]));
    }),
  );
});

test('JSON is bytes as PostgreSQL made them, of any size; null is null', async () => {
  const query = {
    name: 'json',
    text: "select json_build_object('text', $1::text, 'row', n) as body, n, null::json as none from generate_series(1, 3) n",
  };
  for (const text of ['', 'Peña 🏝️', 'ñ'.repeat(1_500_000)]) {
    const rows = (await ask({ ...query, values: [text] })) as { body: Buffer; n: number; none: null }[];
    expect(rows.map(({ n, none }) => [n, none])).toEqual([1, 2, 3].map((n) => [n, null]));
    // They are read when all have come: none is a part of what came later.
    expect(rows.map(({ body }) => body.toString())).toEqual(
      [1, 2, 3].map((n) => `{"text" : ${JSON.stringify(text)}, "row" : ${n}}`),
    );
  }
});

test('any list of texts arrives as it was sent', async () => {
  const ascii = fc.integer({ min: 1, max: 127 });
  const unit = fc
    .oneof(ascii, fc.integer({ min: 1, max: 0x10ffff }))
    .map((code) => String.fromCodePoint(code));
  const texts = fc.array(fc.string({ unit }).filter((text) => text.isWellFormed()));
  await fc.assert(
    fc.asyncProperty(texts, async (sent) => {
      const query = { name: 'texts', text: 'select $1::text[] as texts', values: [sent] };
      expect(await ask(query)).toEqual([{ texts: sent }]);
    }),
  );
});

test('a statement with a name is prepared once on a connection, which knows it also after one that failed', async () => {
  const divide = (n: number) => ask({ name: 'divide', text: 'select 100 / $1::int as n', values: [n] });
  const circular: unknown[] = [];
  circular.push({ circular });
  for (let round = 0; round < 3; round += 1) {
    await expect(divide(0)).rejects.toMatchObject({ code: '22012' });
    expect(await divide(5)).toEqual([{ n: 20 }]);
    await expect(ask({ text: 'select no_such_column' })).rejects.toMatchObject({ code: '42703' });
    // What cannot be bound leaves the connection to the next.
    const unbound = ask({ name: 'circular', text: 'select $1::text as n', values: [circular] });
    await expect(unbound).rejects.toThrow();
    expect(await ask({ text: 'select $1::text as "one", 2 as two', values: ['unnamed'] })).toEqual([
      { one: 'unnamed', two: 2 },
    ]);
  }
  const prepared = "select count(*)::int as n from pg_prepared_statements where name = 'divide'";
  expect(await ask({ text: prepared })).toEqual([{ n: 1 }]);
});

test('are told of a connection that ends while they wait', async () => {
  const client = new BytesClient({ connectionString: inject('serverUrl') });
  client.on('error', () => undefined);
  await client.connect();
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  const waiting = ask({ text: 'select pg_sleep(60)' }, client);
  await Promise.all([
    expect(waiting).rejects.toThrow(),
    connected().query('select pg_terminate_backend($1::int)', [rows[0]?.pid]),
  ]);
});

/** A cipher without certificates: what is tested is an encrypted stream, not whom to trust. */
const ANONYMOUS = { ciphers: 'aNULL:@SECLEVEL=0', maxVersion: 'TLSv1.2' } as const;

test('pass through an encrypted connection', async () => {
  const { host, port, user, password, database } = new pg.Client({ connectionString: inject('serverUrl') });
  // A way to the server that insists on TLS, as managed databases do.
  const server = createServer((plain) => {
    plain.on('error', () => undefined);
    plain.once('data', () => {
      plain.write('S');
      const secure = new TLSSocket(plain, { isServer: true, ...ANONYMOUS });
      const upstream = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
      secure.on('error', () => undefined).on('close', () => upstream.destroy());
      upstream.on('error', () => undefined).on('close', () => secure.destroy());
      secure.pipe(upstream).pipe(secure);
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onTestFinished(() => void server.close());
  const to = { host: '127.0.0.1', port: (server.address() as AddressInfo).port, user, password, database };
  const client = new BytesClient({ ...to, ssl: { rejectUnauthorized: false, ...ANONYMOUS } });
  await client.connect();
  const query = { name: 'long', text: 'select repeat($1, 50000) as body', values: ['ñ'] };
  for (let round = 0; round < 3; round += 1)
    expect(await ask(query, client)).toEqual([{ body: 'ñ'.repeat(50_000) }]);
  await client.end();
});
