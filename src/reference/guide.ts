import { readFileSync } from 'node:fs';

/** The chapters of docs/guide/ as one text for the reference page, with their links and headings as Scalar names them. */

/** In the order of the page, and of the table in README.md. */
const CHAPTERS = [
  'start',
  'keys',
  'errors',
  'retries',
  'syncing',
  'caching',
  'searching',
  'importing',
  'limits',
  'attachments',
  'agents',
];

/** Where the guide's examples find the service. */
const EXAMPLE_ADDRESS = 'http://localhost:3000';

/** RATE_LIMIT_EXCEEDED becomes Rate limit exceeded: in headings Scalar takes the underscores for emphasis. */
const inWords = (code: string): string => code[0] + code.slice(1).toLowerCase().replaceAll('_', ' ');

/** `errors.md#unknown_name`, `errors.md` or `#unknown_name`, as an anchor of the page. */
const anchor = (file: string | undefined, heading: string | undefined): string =>
  `#description/${heading === undefined ? file : heading.replaceAll('_', '-')}`;

const ofPage = (chapter: string): string =>
  chapter
    // What the tests are told about a block is not for readers.
    .replace(/^```(\w+) .*$/gm, '```$1')
    // Each code gets a place in the sidebar, which shows two levels.
    .replace(
      /^### ([A-Z_]+)\n\nStatus /gm,
      (_heading, code: string) => `## ${inWords(code)}\n\n\`${code}\`, status `,
    )
    .replace(
      /\]\((?:([a-z]+)\.md)?(?:#([\w-]+))?\)/g,
      (_link, file?: string, heading?: string) => `](${anchor(file, heading)})`,
    );

/**
 * @param address where clients reach the service, as the examples then say it
 * @returns Markdown. It starts with a heading: Scalar then shows each chapter in the sidebar by itself.
 */
export const guideText = (address = EXAMPLE_ADDRESS): string =>
  CHAPTERS.map((name) => readFileSync(new URL(`../../docs/guide/${name}.md`, import.meta.url), 'utf8'))
    .map(ofPage)
    .join('\n\n')
    .replaceAll(EXAMPLE_ADDRESS, address);
