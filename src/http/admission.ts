import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Database } from '../db/index.ts';

const isRead = ({ method }: FastifyRequest): boolean => method === 'GET' || method === 'HEAD';

/** Delays the 503: clients that retry immediately would keep the process busy. */
const REJECTION_DELAY_MS = 80;
const BATCH_SIZE = 32;

function createRejections(): (reject: () => void) => void {
  const waiting: (() => void)[] = [];

  function next(): void {
    for (const reject of waiting.splice(0, BATCH_SIZE)) reject();
    if (waiting.length > 0) setImmediate(next);
  }

  return (reject) => {
    if (waiting.push(reject) === 1) setTimeout(next, REJECTION_DELAY_MS).unref();
  };
}

/** Returns 503, before the body is read, while the queue of the organization is full. Needs an authenticated request. */
export function rejectFloods(app: FastifyInstance, db: Database, reads = isRead): void {
  const rejectLate = createRejections();
  app.addHook('onRequest', (request, _reply, done) => {
    const rejection = db.rejection(request.scope.organizationId, reads(request) ? 'reads' : 'writes');
    if (rejection) rejectLate(() => done(rejection));
    else done();
  });
}
