import type { FastifyBaseLogger } from 'fastify';
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { errorBody, serviceUnavailable } from '../contract/errors.ts';

export type HealthOptions = {
  ready: () => Promise<unknown>;
  metrics: { text: () => Promise<string>; contentType: string };
  /** Aborted when the service begins to drain: `/readyz` then fails, while requests are still served. */
  draining?: AbortSignal;
};

const UNAVAILABLE = serviceUnavailable();

/** Data has the database's timestamps, and this machine's stand in the log: they should agree. In seconds. */
const MAX_CLOCK_DIFFERENCE = 5;

/** The function reports by how much the database's clock is ahead, and warns once while it differs. */
export function watchClock(log: FastifyBaseLogger, report: (difference: number) => void) {
  let differed = false;
  return (difference: number): void => {
    report(difference);
    const differs = Math.abs(difference) > MAX_CLOCK_DIFFERENCE;
    if (differs && !differed)
      log.warn({ difference }, 'the clocks of the database and of this machine differ: set them by NTP');
    differed = differs;
  };
}

/** For operators. They need no token, and contain no data of organizations. */
export const healthRoutes: FastifyPluginAsyncZod<HealthOptions> = async (
  app,
  { ready, metrics, draining },
) => {
  // Called every few seconds: only errors are logged.
  const options = { schema: { hide: true }, logLevel: 'warn' } as const;
  app.get('/livez', options, (_request, reply) => reply.send({ status: 'alive' }));

  const { status, headers } = UNAVAILABLE;
  let checking: Promise<unknown> | undefined;
  let isLogged = false;
  app.get('/readyz', options, async (request, reply) => {
    try {
      // Each check opens a connection: simultaneous requests share one.
      checking ??= ready().finally(() => {
        checking = undefined;
      });
      await checking;
      isLogged = false;
      if (!draining?.aborted) return reply.send({ status: 'ready' });
    } catch (err) {
      // One line for each outage: load balancers ask every second.
      if (!isLogged) request.log.error({ err }, 'the database is not ready');
      isLogged = true;
    }
    return reply.code(status).headers(headers).send(errorBody(UNAVAILABLE));
  });

  app.get('/metrics', options, async (_request, reply) =>
    reply.type(metrics.contentType).send(await metrics.text()),
  );
};
