import type { FastifyPluginCallbackZod } from 'fastify-type-provider-zod';
import { errorBody, serviceUnavailable } from '../contract/errors.ts';
import type { Pressure } from './overload.ts';

export type HealthOptions = {
  ready: () => Promise<void>;
  pressure?: Pick<Pressure, 'isHigh'>;
  metrics: { text: () => Promise<string>; contentType: string };
  /** Aborted when the shutdown begins: `/readyz` then fails, while requests are still served. */
  leaving?: AbortSignal | undefined;
};

const UNAVAILABLE = serviceUnavailable();

/** For operators. They need no token, and contain no data of organizations. */
export const healthRoutes: FastifyPluginCallbackZod<HealthOptions> = (
  app,
  { ready, pressure, metrics, leaving },
  done,
) => {
  // Called every few seconds: only errors are logged.
  const options = { schema: { hide: true }, logLevel: 'warn' } as const;
  let checking: Promise<void> | undefined;

  function check(): Promise<void> {
    checking ??= ready().finally(() => {
      checking = undefined;
    });
    return checking;
  }

  app.get('/livez', options, (_request, reply) => reply.send({ status: 'alive' }));

  app.get('/readyz', options, async (_request, reply) => {
    // Not thrown, because thrown errors are logged. Requests get the same 503.
    if (leaving?.aborted || pressure?.isHigh()) {
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
