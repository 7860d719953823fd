import { once } from 'node:events';
import type { FastifyReply } from 'fastify';
import { expect, test } from 'vitest';
import { callerOf } from '../../src/http/caller.ts';
import { GET, openConnection, startServer } from './server.ts';

/** A request without a response yet. */
async function pendingRequest() {
  // Inside an object, because a promise waits for a reply that it resolves to.
  const arrived = Promise.withResolvers<{ reply: FastifyReply }>();
  const { port } = await startServer({}, (app) =>
    app.get('/pending', (_request, reply) => arrived.resolve({ reply })),
  );
  const { socket } = openConnection(port, GET('/pending'));
  const { reply } = await arrived.promise;
  return { reply, socket, closed: once(reply.raw, 'close') };
}

test('a client that disconnects aborts the signal, even if the signal is created later', async () => {
  const { reply, socket, closed } = await pendingRequest();
  const early = callerOf(reply).signal();
  socket.destroy();
  await closed;
  expect(early.aborted).toBe(true);
  expect(callerOf(reply).signal().aborted).toBe(true);
});

test('a complete response does not abort the signal', async () => {
  const { reply, closed } = await pendingRequest();
  const early = callerOf(reply).signal();
  reply.send('{}');
  await closed;
  expect(early.aborted).toBe(false);
  expect(callerOf(reply).signal().aborted).toBe(false);
});

test('a response counts as sent when it is complete, and after some seconds even if it is not', async () => {
  const { reply } = await pendingRequest();
  const { reply: complete } = await pendingRequest();
  let isSent = false;
  const sent = callerOf(reply)
    .sent()
    .then(() => {
      isSent = true;
    });
  const ended = callerOf(complete).sent();
  complete.send('{}');
  await ended;
  expect(isSent).toBe(false);
  await sent;
});
