import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';

/** The URL of an app for clients. Default: its port on this machine. */
export function addressOf(app: FastifyInstance, publicUrl?: string, defaultPort = 3000): string {
  const { port = defaultPort } = (app.server.address() ?? {}) as Partial<AddressInfo>;
  return publicUrl ?? `http://localhost:${port}`;
}

/** A document that `npm run docs` wrote: to generate it would hold up every client for a quarter of a second. */
export const committed = (name: string) => (): object =>
  JSON.parse(readFileSync(new URL(`../../openapi/${name}`, import.meta.url), 'utf8'));

/** The document as JSON, with the address of the app. */
export function published(app: FastifyInstance, build: () => object, publicUrl?: string, port?: number) {
  // Absolute, because Postman and its kind keep it as the address of all requests.
  const servers = [{ url: addressOf(app, publicUrl, port), description: 'This service.' }];
  const text = `${JSON.stringify({ ...build(), servers }, null, 2)}\n`;
  return text.replaceAll('](/docs/', () => `](${publicUrl ?? ''}/docs/`);
}
