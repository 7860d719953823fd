import { once } from 'node:events';
import { type AddressInfo, connect, type Server } from 'node:net';
import type { Service } from './service.ts';

/** A response as the server wrote it: an HTTP client would correct or hide a mistake. */
export type RawResponse = { status: number; headers: Record<string, string>; text: string };

/** Opens the service on a free port of this machine. */
export async function listen({ app }: Pick<Service, 'app'>): Promise<{ port: number; origin: string }> {
  const origin = await app.listen({ host: '127.0.0.1', port: 0 });
  return { port: Number(new URL(origin).port), origin };
}

/** Opens a server that stands in for another on a free port of this machine. */
export async function portOf(server: Server, host = '127.0.0.1'): Promise<number> {
  await once(server.listen(0, host), 'listening');
  return (server.address() as AddressInfo).port;
}

export function parseHead(head: string): { status: string; headers: Record<string, string> } {
  const [status = '', ...lines] = head.split(/\r?\n/);
  const headers = lines.map((line) => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
  });
  return { status, headers: Object.fromEntries(headers) };
}

/** The first response in the bytes after any 100 Continue; undefined while it is incomplete. */
function parse(bytes: Buffer): RawResponse | undefined {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const head = parseHead(bytes.subarray(0, end).toString('latin1'));
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(head.status)?.[1]);
  if (status === 100) return parse(bytes.subarray(end + 4));
  const body = bytes.subarray(end + 4);
  const length = head.headers['content-length'];
  if (length === undefined || body.length < Number(length)) return undefined;
  return { status, headers: head.headers, text: body.subarray(0, Number(length)).toString('utf8') };
}

/**
 * Sends bytes over a new connection and resolves with the response, or with undefined if the connection closes without one.
 * A null at the end closes the client's half of the connection.
 */
export function exchange(port: number, ...chunks: (string | Buffer | null)[]) {
  return new Promise<RawResponse | undefined>((resolve) => {
    let received = Buffer.alloc(0);
    const socket = connect(port, '127.0.0.1');
    const finish = () => {
      socket.destroy();
      resolve(parse(received));
    };
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk]);
      if (parse(received)) finish();
    });
    // A server that rejects an upload resets the connection after its response.
    socket.on('error', finish);
    socket.on('end', finish);
    for (const chunk of chunks) {
      if (chunk === null) socket.end();
      else socket.write(chunk);
    }
  });
}

/** The bytes of a request. `headers` override the usual headers; null omits one. */
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
