import type { FastifyPluginAsync } from 'fastify';
import { setCacheControl } from '../http/headers.ts';
import { CHAPTERS, guidePage, guideText } from './guide.ts';
import { addressOf } from './publish.ts';
import { referencePage, referenceScript } from './scalar.ts';
import { serveText } from './serve.ts';

export type ReferenceOptions = {
  title: string;
  /** The OpenAPI document as JSON. */
  document: () => string;
  /** Default: the port that the app listens on, on this machine. */
  publicUrl?: string | undefined;
  /** False for the dashboard API, which has no guide. */
  hasGuide: boolean;
};

const ICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path fill="#0f766e" d="M1 8l14-6-5 13-2-5z"/></svg>';

const guideLinks = (address: string): string => `
- [Guide](${address}/docs/guide.md): how to use the API, with all chapters in one text
- [Changes](${address}/docs/guide/changes): versions, and how a deprecation is announced
- [MCP server](${address}/mcp): the operations of the API as tools, with the same key`;

const llmsText = (title: string, address: string, hasGuide: boolean): string => `# ${title}
${hasGuide ? guideLinks(address) : ''}
- [OpenAPI document](${address}/openapi.json): every operation with its fields, limits and errors
- [Reference page](${address}/docs/): the same document as a web page
`;

export const referenceRoutes: FastifyPluginAsync<ReferenceOptions> = async (app, options) => {
  const { title, document, publicUrl, hasGuide } = options;
  const address = (): string => addressOf(app, publicUrl);
  setCacheControl(app, 'document');
  const redirect = (from: string, to: string): void => {
    app.get(from, { schema: { hide: true } }, (_request, reply) => reply.redirect(to, 301));
  };

  // Only browsers are redirected.
  app.get('/', { schema: { hide: true } }, (request, reply) =>
    request.headers.accept?.includes('text/html')
      ? reply.header('vary', 'Accept').redirect(hasGuide ? 'docs/guide' : 'docs/')
      : reply.callNotFound(),
  );
  redirect('/docs', 'docs/');
  serveText(app, '/favicon.ico', 'image/svg+xml', () => ICON);
  serveText(app, '/openapi.json', 'application/json', document);
  serveText(app, '/llms.txt', 'text/plain', () => llmsText(title, address(), hasGuide));
  serveText(app, '/docs/', 'text/html', () => referencePage(title, hasGuide, publicUrl));
  serveText(app, '/docs/js/scalar.js', 'text/javascript', referenceScript);
  if (!hasGuide) return;
  serveText(app, '/docs/guide', 'text/html', () => guidePage(title, address()));
  serveText(app, '/docs/guide.md', 'text/markdown', () => guideText(address()));
  redirect('/docs/guide/', '../guide');
  for (const chapter of CHAPTERS) redirect(`/docs/guide/${chapter}`, `../guide#${chapter}`);
};
