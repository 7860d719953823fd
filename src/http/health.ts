import type { FastifyPluginCallbackZod } from 'fastify-type-provider-zod';
import { errorBody, serviceUnavailable } from '../contract/errors.ts';
import type { Metrics } from './metrics.ts';

export type HealthOptions = {
  /** Throws while the service should get no requests. */
  ready: () => Promise<void>;
  metrics: Pick<Metrics, 'text' | 'contentType'>;
  /** Aborted when the service is about to end: it still answers, and wants no new clients. */
  leaving?: AbortSignal | undefined;
};

const UNAVAILABLE = serviceUnavailable();

/**
 * For those who run the service: is it alive, is it ready, how is it doing. It needs no token, and tells nothing of
 * any organization.
 */
export const healthRoutes: FastifyPluginCallbackZod<HealthOptions> = (
  app,
  { ready, metrics, leaving },
  done,
) => {
  // They are asked every few seconds. Their requests are not logged; their faults are.
  const options = { schema: { hide: true }, logLevel: 'warn' } as const;
  let checking: Promise<void> | undefined;

  /** Requests of the same moment share one check. */
  function check(): Promise<void> {
    checking ??= ready().finally(() => {
      checking = undefined;
    });
    return checking;
  }

  app.get('/livez', options, (_request, reply) => reply.send({ status: 'alive' }));

  app.get('/readyz', options, async (_request, reply) => {
    // No fault, so nothing is thrown and logged.
    if (leaving?.aborted) {
      const { status, headers } = UNAVAILABLE;
      return reply.code(status).headers(headers).send(errorBody(UNAVAILABLE));
    }
    await check().catch((error) => {
      throw serviceUnavailable(error);
    });
    return reply.send({ status: 'ready' });
  });

  app.get('/metrics', options, async (_request, reply) =>
    reply.type(metrics.contentType).send(await metrics.text()),
  );
  done();
};
