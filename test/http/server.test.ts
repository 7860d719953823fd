import { type AddressInfo, connect } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { createLogger } from '../../src/http/logging.ts';
import { createHttpServer } from '../../src/http/server.ts';

test('an answer whose header cannot be written becomes a 500, is logged, and stops no other', async () => {
  const lines: string[] = [];
  const app = createHttpServer({ logger: createLogger('info', { write: (line) => lines.push(line) }) });
  onTestFinished(() => app.close());
  app.get('/good', () => '{}');
  app.get('/bad', (_request, reply) => reply.header('x-broken', 'a\nb').send('{}'));
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;

  const ask = (path: string): Promise<string> =>
    new Promise((done) => {
      const socket = connect({ port, host: '127.0.0.1' });
      let answer = '';
      socket.setEncoding('utf8').on('data', (text) => {
        answer += text;
      });
      socket.on('close', () => done(answer)).on('error', () => undefined);
      socket.write(
        `GET ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\nx-request-id: the-request\r\n\r\n`,
      );
    });
  const answers = await Promise.all(['/good', '/bad', '/good'].map(ask));
  expect(answers.map((answer) => answer.slice(9, 12))).toEqual(['200', '500', '200']);
  const faults = lines.map((line) => JSON.parse(line)).filter(({ level }) => level === 50);
  expect(faults).toMatchObject([{ requestId: 'the-request', err: { message: expect.any(String) } }]);
});
