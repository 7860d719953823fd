import { connect } from 'node:net';
import type pg from 'pg';
import { serialize } from 'pg-protocol';

/** Not in @types/pg. */
type Cancellable = pg.Client & { processID: number | null; secretKey: number | null };

/**
 * Cancels the statement of a connection, over a second connection.
 * @returns true if the server has signalled: then the cancel cannot hit a later statement
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

/** Does not wait for the running statement, as `client.end()` does. */
export function destroy(client: pg.Client): void {
  client.connection.stream.destroy();
}
