import { connect, createServer, type Socket } from 'node:net';
import { Transform } from 'node:stream';
import pg from 'pg';
import { portOf } from './socket.ts';

export type DatabaseProxy = Awaited<ReturnType<typeof startProxy>>;

/**
 * A proxy in front of the database that can be cut and frozen.
 * @param host the address of this machine on which the proxy listens
 */
export async function startProxy(databaseUrl: string, host = '127.0.0.1') {
  const target = new pg.Client({ connectionString: databaseUrl });
  let state: 'open' | 'frozen' | 'cut' = 'open';
  let onRow: (() => void) | undefined;
  const sockets = new Set<Socket>();
  const track = (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
  };

  let opened = 0;
  const server = createServer((client) => {
    opened += 1;
    track(client);
    if (state === 'cut') client.destroy();
    if (state !== 'open') return;
    const { host, port } = target;
    const upstream = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
    track(upstream);
    client.on('close', () => upstream.destroy());
    upstream.on('close', () => client.destroy());
    client.pipe(upstream);
    const responses = new Transform({
      transform(chunk: Buffer, _encoding, done) {
        if (!onRow || !chunk.includes('SELECT 1\0')) return done(null, chunk);
        // Without a call of `done`, this connection passes nothing more.
        onRow();
        onRow = undefined;
      },
    });
    upstream.pipe(responses).pipe(client);
  });
  const breakAll = () => {
    for (const socket of sockets) socket.destroy();
  };
  const { user, password, database } = target;
  const credentials = password ? `${user}:${encodeURIComponent(password)}` : user;
  return {
    url: `postgres://${credentials}@${host}:${await portOf(server, host)}/${database}`,
    opened: () => opened,
    /** Connections stay open, but pass nothing in either direction; new connections hang. */
    freeze: () => {
      state = 'frozen';
      for (const socket of sockets) socket.unpipe().pause();
    },
    /** Breaks every connection and rejects new ones. */
    cut: () => {
      state = 'cut';
      breakAll();
    },
    /** Withholds the response to the next statement with one row. `committed` resolves when the server has sent it. */
    holdRow: () => {
      const committed = Promise.withResolvers<void>();
      onRow = committed.resolve;
      return { committed: committed.promise };
    },
    mend: () => {
      state = 'open';
      breakAll();
    },
    close: async () => {
      breakAll();
      await new Promise((done) => server.close(done));
    },
  };
}
