import { connect } from 'node:net';
import type { Service } from './service.ts';

/** What a server wrote back, read byte by byte: no HTTP client stands in between and mends it. */
export type RawAnswer = { status: number; headers: Record<string, string>; text: string };

/** Opens the service on a free port of this machine. */
export async function listen({ app }: Pick<Service, 'app'>): Promise<{ port: number; origin: string }> {
  const origin = await app.listen({ host: '127.0.0.1', port: 0 });
  return { port: Number(new URL(origin).port), origin };
}

/** The first final answer in the bytes; undefined while it is not complete. */
function parse(bytes: Buffer): RawAnswer | undefined {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const [statusLine = '', ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n');
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1]);
  if (status === 100) return parse(bytes.subarray(end + 4));
  const headers = Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    }),
  );
  const body = bytes.subarray(end + 4);
  const length = headers['content-length'];
  if (length === undefined || body.length < Number(length)) return undefined;
  return { status, headers, text: body.subarray(0, Number(length)).toString('utf8') };
}

/**
 * Sends bytes over a connection of their own and resolves with the answer; undefined when it closes without one. A null
 * at the end says that nothing more will come.
 */
export function exchange(
  port: number,
  ...chunks: (string | Buffer | null)[]
): Promise<RawAnswer | undefined> {
  return new Promise((done) => {
    let received = Buffer.alloc(0);
    const socket = connect(port, '127.0.0.1');
    const finish = (answer: RawAnswer | undefined) => {
      socket.destroy();
      done(answer);
    };
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk]);
      const answer = parse(received);
      if (answer) finish(answer);
    });
    // A server that refuses an upload resets the connection after its answer.
    socket.on('error', () => finish(parse(received)));
    socket.on('end', () => finish(parse(received)));
    for (const chunk of chunks) {
      if (chunk === null) socket.end();
      else socket.write(chunk);
    }
  });
}

/** The bytes of a request. `headers` replace the usual ones; null leaves one out. */
export function requestBytes(
  method: string,
  target: string,
  headers: Record<string, string | null> = {},
  body: string | Buffer = '',
): Buffer {
  const all: Record<string, string | null> = {
    Host: 'localhost',
    ...(body.length > 0 && { 'Content-Length': String(Buffer.byteLength(body)) }),
    ...headers,
  };
  const lines = Object.entries(all).flatMap(([name, value]) => (value === null ? [] : [`${name}: ${value}`]));
  return Buffer.concat([
    Buffer.from(`${[`${method} ${target} HTTP/1.1`, ...lines].join('\r\n')}\r\n\r\n`, 'latin1'),
    Buffer.from(body),
  ]);
}
