import { connect } from 'node:net';
import type pg from 'pg';
import { serialize } from 'pg-protocol';

/** What @types/pg leaves out. */
type Cancellable = pg.Client & { processID: number | null; secretKey: number | null };

/**
 * Asks the server to end the statement of a connection: over another connection, as PostgreSQL's protocol wants.
 * @returns true when the server has sent the signal, which then cannot hit a later statement
 */
export function sendCancel(client: pg.Client, timeoutMs: number): Promise<boolean> {
  const { host, port, processID, secretKey } = client as Cancellable;
  if (processID === null || secretKey === null) return Promise.resolve(false);
  const socket = connect(host.startsWith('/') ? { path: `${host}/.s.PGSQL.${port}` } : { host, port });
  socket.unref().setTimeout(timeoutMs, () => socket.destroy());
  socket.on('connect', () => socket.write(serialize.cancel(processID, secretKey)));
  return new Promise((done) => {
    socket.on('error', () => undefined);
    socket.on('end', () => done(true)).on('close', () => done(false));
    socket.resume();
  });
}

/** Closes a connection at once, with whatever runs on it. */
export const cut = (client: pg.Client): void => {
  client.connection.stream.destroy();
};
