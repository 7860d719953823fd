import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Config } from './config.ts';

/** An IPv6 address stands in brackets. */
const hostInUrl = (host: string): string => (host.includes(':') ? `[${host}]` : host);

function addressOf({ server }: FastifyInstance, host: string): string {
  const { port } = server.address() as AddressInfo;
  return `http://${['0.0.0.0', '::'].includes(host) ? 'localhost' : hostInUrl(host)}:${port}`;
}

type Started = {
  app: FastifyInstance;
  demoKey: string | undefined;
  dashboard: FastifyInstance;
  isDashboardOpen: boolean;
  /** Of a dashboard whose token was generated. */
  generatedToken: string | undefined;
};

/** What a person needs after the start: the addresses, and a request to try. */
export function greeting(
  { HOST: host, DASHBOARD_HOST }: Pick<Config, 'HOST' | 'DASHBOARD_HOST'>,
  { app, demoKey, dashboard, isDashboardOpen, generatedToken }: Started,
): string {
  const { port } = app.server.address() as AddressInfo;
  const address = addressOf(app, host);
  const lines = [
    '',
    `The travel agency CRM API listens on ${hostInUrl(host)}:${port}.`,
    '',
    `  API        ${address}/v1`,
    `  Guide      ${address}/docs/guide`,
    `  Reference  ${address}/docs`,
    demoKey === undefined
      ? '  Keys       npm run keys -- issue --organization NAME --name "my integration"'
      : `  Demo key   ${demoKey}`,
    isDashboardOpen
      ? `  Dashboard  ${addressOf(dashboard, DASHBOARD_HOST)}/dashboard/v1`
      : '  Dashboard  closed: DASHBOARD_TOKEN is not set',
    ...(generatedToken === undefined ? [] : [`  Its token  ${generatedToken}`]),
    '',
    'Try it:',
    '',
    `  curl -s '${address}/v1/catalog/products?limit=1' -H 'Authorization: Bearer ${demoKey ?? '<key>'}'`,
    '',
  ];
  return `${lines.join('\n')}\n`;
}
