import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Database } from '../db/client.ts';

/** A request that changes nothing. */
export const isRead = ({ method }: FastifyRequest): boolean => method === 'GET' || method === 'HEAD';

/**
 * Refuses (503) what the database would refuse at once, before the request is read any further: what is refused must cost
 * less than what is answered. Needs an authenticated request.
 */
export function refuseFloods(app: FastifyInstance, db: Database): void {
  app.addHook('onRequest', (request, _reply, done) => {
    done(db.refusal(request.scope.organizationId, isRead(request) ? 'reads' : 'writes'));
  });
}
