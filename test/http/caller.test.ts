import { once } from 'node:events';
import type { FastifyReply } from 'fastify';
import { expect, test } from 'vitest';
import { callerOf } from '../../src/http/caller.ts';
import { GET, open, serve } from './held.ts';

/** The reply of a request that is under way, and its client. */
async function underWay() {
  // A promise would wait for the end of a reply that it is given.
  const arrived = Promise.withResolvers<{ reply: FastifyReply }>();
  const { port, answer } = await serve({
    onRequest: (_request, reply, done) => {
      arrived.resolve({ reply });
      done();
    },
  });
  const { socket } = open(port, GET('/later'));
  return { ...(await arrived.promise), socket, answer };
}

test.each(['before', 'after'])('a client that goes has gone, whoever asks %s it', async (when) => {
  const { reply, socket } = await underWay();
  const early = when === 'before' ? callerOf(reply).signal() : undefined;
  const closed = once(reply.raw, 'close');
  socket.destroy();
  await closed;
  expect((early ?? callerOf(reply).signal()).aborted).toBe(true);
});

test('a client that has its answer has not gone', async () => {
  const { reply, socket, answer } = await underWay();
  const early = callerOf(reply).signal();
  const closed = once(reply.raw, 'close');
  answer();
  await closed;
  expect([early.aborted, callerOf(reply).signal().aborted]).toEqual([false, false]);
  socket.destroy();
});
