import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { runInThisContext } from 'node:vm';
import type { FastifyApiReferenceOptions } from '@scalar/fastify-api-reference';
import { escaped, htmlPage } from './page.ts';

type Configuration = NonNullable<FastifyApiReferenceOptions['configuration']>;

/** Gives each colour a contrast of at least 4.5 (WCAG AA), and hides links to Scalar. */
const CSS = `
a[href*="scalar.com"], .ascii-art { display: none !important; }
body.light-mode {
  --scalar-color-2: #5c5c5c; --scalar-color-3: #626262;
  --scalar-color-blue: #0063a8; --scalar-color-green: #00703f; --scalar-color-orange: #b23c00;
  --scalar-color-red: #c20000; --scalar-color-yellow: #7a5c00;
}
body.dark-mode, body .dark-mode { --scalar-color-3: #9a9a9a; --scalar-color-red: #ff6b6b; }
`;

/** Scalar must contact no other host and store no key. */
const CONFIGURATION: Configuration = {
  url: '../openapi.json',
  customCss: CSS,
  orderSchemaPropertiesBy: 'preserve',
  documentDownloadType: 'none',
  showDeveloperTools: 'never',
  hideClientButton: true,
  withDefaultFonts: false,
  persistAuth: false,
  proxyUrl: '',
  telemetry: false,
  agent: { disabled: true },
  mcp: { disabled: true },
};

/** Hides the paragraph when Scalar has added its `div`. */
const PAGE_CSS =
  'body > p { padding: 1rem; font-family: sans-serif; } body > p:has(+ div) { display: none; }';

/** Calls go to the host of the page, which may have other names than the document says. */
export function referencePage(title: string, hasGuide: boolean, publicUrl = '/'): string {
  const configuration = JSON.stringify({ ...CONFIGURATION, servers: [{ url: publicUrl }] });
  return htmlPage(
    title,
    PAGE_CSS,
    `<p>The reference is loading, and needs scripts. ${hasGuide ? 'The <a href="guide">guide</a> and the' : 'The'} <a href="../openapi.json">OpenAPI document</a> need none.</p>
<script id="api-reference" data-configuration="${escaped(configuration)}"></script>
<script src="js/scalar.js"></script>`,
  );
}

/** The package has its script as a literal of its module, which would take 60 MiB if it were imported. */
export async function referenceScript(): Promise<string> {
  const path = fileURLToPath(import.meta.resolve('@scalar/fastify-api-reference'));
  const [, literal = ''] = /^var standalone_default = (".*");$/m.exec(await readFile(path, 'utf8')) ?? [];
  return runInThisContext(literal);
}
