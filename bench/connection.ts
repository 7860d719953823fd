import { connect } from 'node:net';

/** A cheap HTTP connection: it writes bytes, and reads only the status and length of each response. */
export type Connection = {
  /** Sends a request, also while others are pending. Resolves with the status; rejects if the connection ends first. */
  send: (request: string) => Promise<number>;
  close: () => void;
};

const HEAD_END = Buffer.from('\r\n\r\n');

export const get = (path: string, key: string): string =>
  `GET ${path} HTTP/1.1\r\nHost: localhost\r\nx-api-key: ${key}\r\n\r\n`;

/** A tool call over /mcp. */
export function toolCall(name: string, given: object, key: string): string {
  const body = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name, arguments: given },
  });
  const head = `POST /mcp HTTP/1.1\r\nHost: localhost\r\nx-api-key: ${key}\r\nContent-Type: application/json`;
  const accept = 'Accept: application/json, text/event-stream';
  return `${head}\r\n${accept}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

export function openConnection(port: number): Promise<Connection> {
  const waiting: PromiseWithResolvers<number>[] = [];
  let held: Buffer = Buffer.alloc(0);
  let missing = 0;
  let status = 0;

  function read(chunk: Buffer): void {
    held = held.length > 0 ? Buffer.concat([held, chunk]) : chunk;
    while (held.length > 0) {
      if (missing === 0) {
        const end = held.indexOf(HEAD_END);
        if (end === -1) return;
        const head = held.toString('latin1', 0, end);
        status = Number(head.slice(9, 12));
        missing = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
        held = held.subarray(end + HEAD_END.length);
      }
      const taken = Math.min(missing, held.length);
      held = held.subarray(taken);
      missing -= taken;
      if (missing > 0) return;
      waiting.shift()?.resolve(status);
    }
  }

  return new Promise((opened, fail) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    const broke = (error: Error): void => {
      fail(error);
      for (const { reject } of waiting.splice(0)) reject(error);
    };
    socket.on('data', read).on('error', broke);
    socket.on('close', () => broke(new Error('The server closed the connection.')));
    socket.on('connect', () =>
      opened({
        send: (request) => {
          const response = Promise.withResolvers<number>();
          waiting.push(response);
          socket.write(request);
          return response.promise;
        },
        close: () => socket.destroy(),
      }),
    );
  });
}
