import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';

export type Publisher = {
  /** URL of the service for clients. */
  publicUrl?: string | undefined;
  /** An email address or a URL. */
  contact?: string | undefined;
};

type Published = { info: { contact: object }; servers: object[] };

/** The URL of an app for clients. Default: its port on this machine. */
export function addressOf(app: FastifyInstance, publicUrl?: string, defaultPort = 3000): string {
  const { port = defaultPort } = (app.server.address() ?? {}) as Partial<AddressInfo>;
  return publicUrl ?? `http://localhost:${port}`;
}

/** A document that `npm run docs` wrote: to generate it would hold up every client for a quarter of a second. */
export const committed = (name: string) => (): object =>
  JSON.parse(readFileSync(new URL(`../../openapi/${name}`, import.meta.url), 'utf8'));

/** The document as JSON, with its publisher. */
export function published(
  app: FastifyInstance,
  build: () => object,
  { publicUrl, contact }: Publisher,
  defaultPort?: number,
): string {
  const document = build() as Published;
  // Absolute, because Postman and its kind keep it as the address of all requests.
  document.servers = [{ url: addressOf(app, publicUrl, defaultPort), description: 'This service.' }];
  if (contact !== undefined)
    Object.assign(document.info.contact, { [contact.startsWith('http') ? 'url' : 'email']: contact });
  const text = `${JSON.stringify(document, null, 2)}\n`;
  return text.replaceAll('](/docs/', () => `](${publicUrl ?? ''}/docs/`);
}
