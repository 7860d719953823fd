import type { FastifyPluginAsync } from 'fastify';
import { entityTag } from '../../rules/entity-tag.ts';
import { setHeaders } from '../http/headers.ts';
import { shared } from '../shared.ts';
import { CHAPTERS, guidePage, guideText } from './guide.ts';
import { addressOf } from './publish.ts';
import { referencePage, referenceScript } from './scalar.ts';

export type ReferenceOptions = {
  title: string;
  /** The OpenAPI document as JSON. */
  document: () => string;
  /** Default: the port that the app listens on, on this machine. */
  publicUrl?: string | undefined;
  /** False for the dashboard API, which has no guide. */
  hasGuide: boolean;
};

/** `unsafe-inline` is for the styles that Scalar writes. */
const CONTENT_SECURITY_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; " +
  "font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const llmsText = (title: string, address: string): string => `# ${title}

- [Guide](${address}/docs/guide.md): how to use the API, with all chapters in one text
- [Changes](${address}/docs/guide/changes): versions, and how a deprecation is announced
- [MCP server](${address}/mcp): the operations of the API as tools, with the same key
- [OpenAPI document](${address}/openapi.json): every operation with its fields, limits and errors
- [Reference page](${address}/docs/): the same document as a web page
`;

export const referenceRoutes: FastifyPluginAsync<ReferenceOptions> = async (app, reference) => {
  const { title, document, publicUrl, hasGuide } = reference;
  const address = (): string => addressOf(app, publicUrl);
  setHeaders(app, 'document');
  const options = { schema: { hide: true } };
  const redirect = (from: string, to: string) =>
    app.get(from, options, (_request, reply) => reply.redirect(to, 301));
  /** Builds the text once, at the first request. The proxy compresses it. */
  function serve(url: string, type: string, build: () => string | Promise<string>): void {
    const built = shared(async () => {
      const body = Buffer.from(await build());
      return { body, etag: entityTag(body) };
    });
    app.get(url, options, async (_request, reply) => {
      const { body, etag } = await built();
      reply.headers({ 'content-security-policy': CONTENT_SECURITY_POLICY, etag });
      return reply.type(`${type}; charset=utf-8`).send(body);
    });
  }

  redirect('/docs', 'docs/');
  serve('/openapi.json', 'application/json', document);
  serve('/docs/', 'text/html', () => referencePage(title, hasGuide, publicUrl));
  serve('/docs/js/scalar.js', 'text/javascript', referenceScript);
  if (!hasGuide) return;
  serve('/llms.txt', 'text/plain', () => llmsText(title, address()));
  serve('/docs/guide', 'text/html', () => guidePage(title, address()));
  serve('/docs/guide.md', 'text/markdown', () => guideText(address()));
  redirect('/docs/guide/', '../guide');
  for (const chapter of CHAPTERS) redirect(`/docs/guide/${chapter}`, `../guide#${chapter}`);
};
