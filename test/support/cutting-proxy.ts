import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A way to a service that breaks. */
export type CuttingProxy = {
  origin: string;
  cuts: () => number;
  /** Refuses every connection from now on, or takes them again. */
  lose: (isLost: boolean) => void;
  close: () => Promise<void>;
};

/**
 * Gives each request a connection of its own and cuts every nth: in turn before the service sees the request, after it has
 * answered, and in the middle of the answer.
 */
export async function startCuttingProxy(
  target: string,
  every: number,
  /** Told how many answers have come from the service. */
  onAnswer: (count: number) => void = () => undefined,
): Promise<CuttingProxy> {
  let isLost = false;
  let answered = 0;
  let connections = 0;
  let cuts = 0;
  const server = createServer((incoming, outgoing) => {
    connections += 1;
    const cut = connections % every === 0 ? (['before', 'after', 'within'] as const)[cuts++ % 3] : undefined;
    if (cut === 'before') return incoming.socket.destroy();
    if (isLost) return incoming.socket.destroy();
    const { method, headers, url } = incoming;
    const upstream = request(new URL(url ?? '/', target), { method: String(method), headers }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk) => chunks.push(chunk));
      answer.on('end', () => {
        onAnswer(++answered);
        if (isLost) return incoming.socket.destroy();
        if (cut === 'after') return incoming.socket.destroy();
        const body = Buffer.concat(chunks);
        outgoing.writeHead(Number(answer.statusCode), { ...answer.headers, connection: 'close' });
        if (cut === undefined) return outgoing.end(body);
        outgoing.write(body.subarray(0, body.length >> 1), () => incoming.socket.destroy());
      });
    });
    upstream.on('error', () => incoming.socket.destroy());
    incoming.pipe(upstream);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cuts: () => cuts,
    lose: (lost) => {
      isLost = lost;
    },
    close: () =>
      new Promise((done) => {
        server.closeAllConnections();
        server.close(() => done());
      }),
  };
}
