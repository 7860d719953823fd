import { createServer, request } from 'node:http';
import { portOf } from './socket.ts';

/**
 * A proxy in front of a service, with a connection for each request. It cuts every nth: in turn before the service receives
 * the request, before the client receives the response, and in the middle of the response.
 */
export async function startCuttingProxy(
  target: string,
  every: number,
  /** Called with the number of responses of the service so far. */
  onResponse: (count: number) => void = () => undefined,
) {
  let isLost = false;
  let responses = 0;
  let connections = 0;
  let cuts = 0;
  const server = createServer((incoming, outgoing) => {
    connections += 1;
    const cut = connections % every === 0 ? (['before', 'after', 'within'] as const)[cuts++ % 3] : undefined;
    if (cut === 'before' || isLost) return incoming.socket.destroy();
    const { method, headers, url } = incoming;
    const upstream = request(new URL(url ?? '/', target), { method: String(method), headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk) => chunks.push(chunk));
      response.on('end', () => {
        onResponse(++responses);
        if (cut === 'after' || isLost) return incoming.socket.destroy();
        const body = Buffer.concat(chunks);
        outgoing.writeHead(Number(response.statusCode), { ...response.headers, connection: 'close' });
        if (cut === undefined) return outgoing.end(body);
        outgoing.write(body.subarray(0, body.length >> 1), () => incoming.socket.destroy());
      });
    });
    upstream.on('error', () => incoming.socket.destroy());
    incoming.pipe(upstream);
  });
  return {
    origin: `http://127.0.0.1:${await portOf(server)}`,
    cuts: () => cuts,
    /** Breaks every connection from now on, or accepts connections again. */
    lose: (lost: boolean) => {
      isLost = lost;
    },
    close: () =>
      new Promise<void>((done) => {
        server.closeAllConnections();
        server.close(() => done());
      }),
  };
}
