import { type AddressInfo, connect, createServer } from 'node:net';
import { TLSSocket } from 'node:tls';
import { sql } from 'drizzle-orm';
import fc from 'fast-check';
import pg, { type QueryConfig } from 'pg';
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest';
import { openDatabase } from '../../src/db/client.ts';
import { openPool } from '../../src/db/pool.ts';
import { lookup, type Params } from '../../src/db/statement.ts';
import { gatherLookups } from '../../src/wire/lookups.ts';
import { queryRendered, RenderingClient, readRows } from '../../src/wire/rendered-query.ts';
import { administer } from '../support/databases.ts';
import { startProxy } from '../support/proxy.ts';

/** Answers as bytes: whatever the pieces that they come in, and whatever else the connection does. */

type Message = { type: string; content: Buffer };

const int32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
};

const encode = ({ type, content }: Message): Buffer =>
  Buffer.concat([Buffer.from(type), int32(content.length + 4), content]);

const row = (column: Buffer | null): Message => ({
  type: 'D',
  content: Buffer.concat([Buffer.from([0, 1]), int32(column?.length ?? -1), column ?? Buffer.alloc(0)]),
});

/** The bytes, cut at places that the numbers choose. */
function pieces(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  return [...places, bytes.length].map((end, index) => bytes.subarray(places[index - 1] ?? 0, end));
}

const bytes = fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array));
const other = fc.record({ type: fc.constantFrom('2', 'C', 'Z', 'N', 'S'), content: bytes });
const messages = fc.array(fc.oneof(other, fc.option(bytes).map(row)), { maxLength: 8 });
const cuts = fc.array(fc.nat(), { maxLength: 12 });

describe('reading rows', () => {
  test('takes the rows and passes on the rest, in order, whatever the pieces', () => {
    fc.assert(
      fc.property(messages, cuts, (sent, places) => {
        const taken: (Buffer | null)[] = [];
        const passed: Buffer[] = [];
        const read = readRows({
          wants: () => true,
          hasRoom: () => true,
          take: (column) => taken.push(column && Buffer.from(column)),
          pass: (part) => passed.push(Buffer.from(part)),
        });
        for (const piece of pieces(Buffer.concat(sent.map(encode)), places)) read(piece);
        const isRow = ({ type }: Message): boolean => type === 'D';
        expect(taken.map((column) => column && encode(row(column)))).toEqual(
          sent.filter(isRow).map((message) => (message.content.readInt32BE(2) < 0 ? null : encode(message))),
        );
        expect(Buffer.concat(passed)).toEqual(
          Buffer.concat(sent.filter((message) => !isRow(message)).map(encode)),
        );
      }),
      { numRuns: 1_000 },
    );
  });

  test('reads over a row that there is no room for, and nothing else', () => {
    fc.assert(
      fc.property(messages, cuts, (sent, places) => {
        const taken: number[] = [];
        const refused: number[] = [];
        const passed: Buffer[] = [];
        const read = readRows({
          wants: () => true,
          hasRoom: (bytes) => {
            refused.push(bytes);
            return false;
          },
          take: (column) => taken.push(column?.length ?? -1),
          pass: (part) => passed.push(Buffer.from(part)),
        });
        for (const piece of pieces(Buffer.concat(sent.map(encode)), places)) read(piece);
        const rows = sent.filter(({ type }) => type === 'D').map(({ content }) => content.readInt32BE(2));
        expect([...taken, ...refused].toSorted()).toEqual(rows.toSorted());
        expect(Buffer.concat(passed)).toEqual(
          Buffer.concat(sent.filter(({ type }) => type !== 'D').map(encode)),
        );
      }),
      { numRuns: 1_000 },
    );
  });

  test('passes everything on while no row is wanted', () => {
    fc.assert(
      fc.property(messages, cuts, (sent, places) => {
        const passed: Buffer[] = [];
        const read = readRows({
          wants: () => false,
          hasRoom: () => true,
          take: () => expect.unreachable(),
          pass: (part) => passed.push(Buffer.from(part)),
        });
        const all = Buffer.concat(sent.map(encode));
        for (const piece of pieces(all, places)) read(piece);
        expect(Buffer.concat(passed)).toEqual(all);
      }),
    );
  });
});

describe('rendered queries', () => {
  const holder: { client?: RenderingClient } = {};
  const connected = (): RenderingClient => {
    if (!holder.client) throw new Error('The client is connected before the first test.');
    return holder.client;
  };
  const ask = async (query: QueryConfig) => {
    const [column] = await queryRendered(connected(), [query]);
    return Buffer.isBuffer(column) ? column.toString() : column;
  };
  beforeAll(async () => {
    holder.client = new RenderingClient({ connectionString: inject('serverUrl') });
    await holder.client.connect();
  });
  afterAll(() => holder.client?.end());

  test.each([undefined, 'echo'])('answer the text that the server has, prepared as %s', async (name) => {
    const query = { text: 'select $1::text as body where $1 is distinct from $2', ...(name && { name }) };
    for (const text of ['', 'Peña 🏝️', 'x'.repeat(3_000_000)])
      expect(await ask({ ...query, values: [text, null] })).toBe(text);
    expect(await ask({ ...query, values: [null, ''] })).toBeNull();
    expect(await ask({ ...query, values: ['a', 'a'] })).toBeUndefined();
  });

  test('leave the rows of other queries on the connection as pg reads them', async () => {
    for (let round = 0; round < 3; round += 1) {
      expect(await ask({ name: 'one', text: 'select 1::text' })).toBe('1');
      const { rows } = await connected().query('select n, array[n] as list from generate_series(1, 3) n');
      expect(rows).toEqual([1, 2, 3].map((n) => ({ n, list: [n] })));
    }
  });

  test('fail as any query does, and the connection goes on', async () => {
    const divide = { name: 'divide', text: 'select (1 / $1::int)::text' };
    await expect(ask({ ...divide, values: ['0'] })).rejects.toMatchObject({ code: '22012' });
    await expect(ask({ text: 'select no_such_column' })).rejects.toMatchObject({ code: '42703' });
    expect(await ask({ ...divide, values: [1] })).toBe('1');
    expect((await connected().query('select 2 as n')).rows).toEqual([{ n: 2 }]);
  });

  test('are refused a long row that nobody has room for; a short one is not asked about', async () => {
    const asked: number[] = [];
    const refusal = (bytes: number) => {
      asked.push(bytes);
      return new Error('no room');
    };
    const text = "select repeat('x', $1::int)";
    await expect(queryRendered(connected(), [{ text, values: [300_000], refusal }])).rejects.toThrow(
      'no room',
    );
    expect(asked).toEqual([300_000]);
    const [short] = await queryRendered(connected(), [{ text, values: [3], refusal }]);
    expect(short?.toString()).toBe('xxx');
    expect(asked).toHaveLength(1);
  });

  test('are told of a connection that ends while they wait', async () => {
    const client = new RenderingClient({ connectionString: inject('serverUrl') });
    client.on('error', () => undefined);
    await client.connect();
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
    const waiting = queryRendered(client, [{ text: 'select pg_sleep(60)::text' }]);
    await Promise.all([
      expect(waiting).rejects.toThrow(),
      connected().query('select pg_terminate_backend($1::int)', [rows[0]?.pid]),
    ]);
  });

  test('share a round trip, each with its own answer, and each statement is prepared once', async () => {
    const some = (n: number): QueryConfig => ({
      name: 'odd',
      text: `select nullif($1::int, 3)::text as body where $1::int % 2 = 1`,
      values: [n],
    });
    const other: QueryConfig = { name: 'other', text: 'select repeat($1, 100000)', values: ['é'] };
    const unnamed: QueryConfig = { text: 'select $1::text', values: ['unnamed'] };
    for (let round = 0; round < 3; round += 1) {
      const together = [some(1), some(2), other, unnamed, some(3), unnamed, some(5)];
      const answers = await queryRendered(connected(), together);
      expect(answers.map((column) => (column instanceof Buffer ? column.toString() : column))).toEqual([
        '1',
        undefined,
        'é'.repeat(100_000),
        'unnamed',
        null,
        'unnamed',
        '5',
      ]);
    }
  });

  test('that fail together leave the connection knowing what is prepared on it', async () => {
    const divide = (n: number): QueryConfig => ({
      name: 'divide_hundred',
      text: 'select (100 / $1::int)::text',
      values: [n],
    });
    const after: QueryConfig = { name: 'after_the_fault', text: 'select $1::text', values: ['after'] };
    for (let round = 0; round < 3; round += 1) {
      const together = queryRendered(connected(), [divide(4), divide(0), after]);
      await expect(together).rejects.toMatchObject({ code: '22012' });
      expect((await queryRendered(connected(), [divide(5), divide(4)])).map(String)).toEqual(['20', '25']);
    }
    expect((await queryRendered(connected(), [after, divide(2), after])).map(String)).toEqual([
      'after',
      '50',
      'after',
    ]);
  });
});

/** A cipher without certificates: what is tested is the reading of an encrypted stream, not whom to trust. */
const ANONYMOUS = { ciphers: 'aNULL:@SECLEVEL=0', maxVersion: 'TLSv1.2' } as const;

/** A way to the server that insists on TLS, as managed databases do. */
async function startTlsProxy(databaseUrl: string) {
  const { host, port, user, password, database } = new pg.Client({ connectionString: databaseUrl });
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
  const to = { host: '127.0.0.1', port: (server.address() as AddressInfo).port, user, password, database };
  return { to, close: () => new Promise((done) => server.close(done)) };
}

test('rendered queries pass through an encrypted connection', async () => {
  const { to, close } = await startTlsProxy(inject('serverUrl'));
  onTestFinished(async () => {
    await close();
  });
  const client = new RenderingClient({ ...to, ssl: { rejectUnauthorized: false, ...ANONYMOUS } });
  await client.connect();
  const query = { name: 'long', text: 'select repeat($1, 50000) as body', values: ['ñ'] };
  for (let round = 0; round < 3; round += 1) {
    const answers = await queryRendered(client, [query]);
    expect(answers.map(String)).toEqual(['ñ'.repeat(50_000)]);
    expect((await client.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
  }
  await client.end();
});

describe('lookups', () => {
  const open = () =>
    openDatabase({ url: inject('serverUrl'), poolSize: 3, maxWaiting: 1_000, statementTimeout: 5_000 });

  test('of one tick are each answered with their own, however many there are', async () => {
    const db = open();
    onTestFinished(db.close);
    const echo = lookup(
      'test.echo_odd',
      ($: Params<{ n: number }>) =>
        sql<{ body: string }>`select ${$.n}::int::text as body where ${$.n}::int % 2 = 1`,
    );
    const square = lookup(
      'test.square',
      ($: Params<{ n: number }>) => sql<{ body: string }>`select (${$.n}::int * ${$.n}::int)::text as body`,
    );
    for (let round = 0; round < 3; round += 1) {
      const answers = await Promise.all(
        Array.from({ length: 500 }, (_, n) => db.read(n % 3 === 0 ? square : echo, { n })),
      );
      expect(answers.map((rows) => rows.map(({ body }) => String(body)))).toEqual(
        answers.map((_, n) => (n % 3 === 0 ? [String(n * n)] : n % 2 === 1 ? [String(n)] : [])),
      );
    }
  });

  test('of one flow share round trips, four at most, while they come several at a time', async () => {
    const pool = openPool({ url: inject('serverUrl'), poolSize: 3, statementTimeout: 5_000 });
    onTestFinished(() => pool.close());
    const lookUp = gatherLookups();
    let trips: string[] = [];
    const ask = async (flow: string, n: number): Promise<string> => {
      const query = { name: 'echo_text', text: 'select $1::text', values: [n] };
      const withClient = <Result>(work: (client: pg.Client) => Promise<Result>) => {
        trips.push(flow);
        return pool.withClient(work, {});
      };
      return String(await lookUp({ flow, query, withClient }));
    };
    const askMany = async (): Promise<string[]> => {
      trips = [];
      const asked = ['a', 'a', 'b', 'a', 'a', 'b', 'a', 'a', 'a', 'a'].map(ask);
      expect(await Promise.all(asked)).toEqual(asked.map((_, n) => String(n)));
      return trips.toSorted();
    };
    const goesAtOnce = async (): Promise<boolean> => {
      trips = [];
      const answer = ask('a', 1);
      const began = trips.length === 1;
      expect(await answer).toBe('1');
      return began;
    };
    expect(await goesAtOnce()).toBe(true);
    // The first of them comes alone, as far as anybody knows.
    expect(await askMany()).toEqual(['a', 'a', 'a', 'b']);
    expect(await askMany()).toEqual(['a', 'a', 'b']);
    expect(await goesAtOnce()).toBe(false);
    expect(await goesAtOnce()).toBe(true);
  });

  test('fail alone: those that shared their round trip are answered', async () => {
    const db = open();
    onTestFinished(db.close);
    const divide = lookup(
      'test.divide_by',
      ($: Params<{ n: number }>) => sql<{ body: string }>`select (100 / ${$.n}::int)::text as body`,
    );
    for (let round = 0; round < 3; round += 1) {
      const answers = await Promise.allSettled([1, 2, 0, 4, 5, 0, 10].map((n) => db.read(divide, { n })));
      expect(
        answers.map((answer) =>
          answer.status === 'fulfilled' ? String(answer.value[0]?.body) : answer.reason.code,
        ),
      ).toEqual(['100', '50', '22012', '25', '20', '22012', '10']);
    }
  });

  test('are all told of a server that is silent, without asking it again one by one', async () => {
    const proxy = await startProxy(inject('serverUrl'));
    const db = openDatabase({ url: proxy.url, poolSize: 1, maxWaiting: 1_000, statementTimeout: 1_000 });
    onTestFinished(async () => {
      proxy.cut();
      await db.close();
      await proxy.close();
    });
    const echo = lookup(
      'test.echo',
      ($: Params<{ n: number }>) => sql<{ body: string }>`select ${$.n}::int::text as body`,
    );
    await db.read(echo, { n: 0 });
    proxy.freeze();
    const answers = await Promise.allSettled([1, 2, 3, 4].map((n) => db.read(echo, { n })));
    // Asked again, they would fail to connect instead.
    expect(answers.map((answer) => answer.status === 'rejected' && answer.reason.message)).toEqual(
      new Array(4).fill('The database took longer than 1000 ms.'),
    );
  });

  test('outlive the end of every connection', async () => {
    const db = open();
    onTestFinished(db.close);
    const wait = lookup(
      'test.wait',
      ($: Params<{ n: number }>) => sql<{ body: string }>`select pg_sleep(0.05)::text || ${$.n}::int as body`,
    );
    const answers = Promise.all(Array.from({ length: 20 }, (_, n) => db.read(wait, { n })));
    await administer(inject('serverUrl'), (client) =>
      client.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where query like '%pg_sleep(0.05)%' and pid <> pg_backend_pid()`,
      ),
    );
    expect((await answers).map(([row]) => String(row?.body))).toEqual(
      Array.from({ length: 20 }, (_, n) => String(n)),
    );
  });
});
