import { connect } from 'node:net';

/** One connection to an HTTP server that costs its process next to nothing: bytes out, status and length of each answer in. */
export type Connection = {
  /** Sends a request, also while others wait; the status of its answer. Rejects when the connection ends before. */
  send: (request: string) => Promise<number>;
  close: () => void;
};

const HEAD_END = Buffer.from('\r\n\r\n');

export const get = (path: string, key: string): string =>
  `GET ${path} HTTP/1.1\r\nHost: localhost\r\nx-api-key: ${key}\r\n\r\n`;

/** The call of a tool over /mcp. */
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

  return new Promise((opened, refused) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    const broke = (error: Error): void => {
      refused(error);
      for (const { reject } of waiting.splice(0)) reject(error);
    };
    socket.on('data', read).on('error', broke);
    socket.on('close', () => broke(new Error('The server closed the connection.')));
    socket.on('connect', () =>
      opened({
        send: (request) => {
          const answer = Promise.withResolvers<number>();
          waiting.push(answer);
          socket.write(request);
          return answer.promise;
        },
        close: () => socket.destroy(),
      }),
    );
  });
}
