import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { Transform } from 'node:stream';
import pg from 'pg';

/** A way to the database that can be cut and frozen. */
export type DatabaseProxy = {
  url: string;
  /** How many connections came so far. */
  opened: () => number;
  /** Connections stay open and nothing comes through any more, in neither direction; new ones hang. */
  freeze: () => void;
  /** Breaks every connection and refuses new ones. */
  cut: () => void;
  /** Keeps back what the server says to the next commit. `committed` resolves when it has said it. */
  holdCommit: () => { committed: Promise<void>; letThrough: () => void };
  /** Lets new connections through again. */
  mend: () => void;
  /** Breaks every connection and leads new ones to another server. */
  lead: (databaseUrl: string) => void;
  close: () => Promise<void>;
};

/** @param host where it listens: an address of this machine */
export async function startProxy(databaseUrl: string, host = '127.0.0.1'): Promise<DatabaseProxy> {
  const { user, password, database } = new pg.Client({ connectionString: databaseUrl });
  let target = new pg.Client({ connectionString: databaseUrl });
  let state: 'open' | 'frozen' | 'cut' = 'open';
  let onCommit: ((letThrough: () => void) => void) | undefined;
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
    const answers = new Transform({
      transform(chunk: Buffer, _encoding, done) {
        const hold = chunk.includes('COMMIT\0') ? onCommit : undefined;
        if (!hold) return done(null, chunk);
        onCommit = undefined;
        hold(() => done(null, chunk));
      },
    });
    upstream.pipe(answers).pipe(client);
  });
  const breakAll = () => {
    for (const socket of sockets) socket.destroy();
  };
  await new Promise<void>((done) => server.listen(0, host, done));

  const credentials = password ? `${user}:${encodeURIComponent(password)}` : user;
  return {
    url: `postgres://${credentials}@${host}:${(server.address() as AddressInfo).port}/${database}`,
    opened: () => opened,
    freeze: () => {
      state = 'frozen';
      for (const socket of sockets) socket.unpipe().pause();
    },
    cut: () => {
      state = 'cut';
      breakAll();
    },
    holdCommit: () => {
      const committed = Promise.withResolvers<void>();
      let letThrough = () => undefined as unknown;
      onCommit = (release) => {
        letThrough = release;
        committed.resolve();
      };
      return { committed: committed.promise, letThrough: () => void letThrough() };
    },
    mend: () => {
      state = 'open';
      breakAll();
    },
    lead: (url) => {
      target = new pg.Client({ connectionString: url });
      breakAll();
    },
    close: async () => {
      breakAll();
      await new Promise((done) => server.close(done));
    },
  };
}
