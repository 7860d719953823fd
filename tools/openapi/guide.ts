import { readFileSync } from 'node:fs';
import { type ErrorCode, errorCodes, statusOf } from '../../src/errors.ts';

/** The chapters of docs/guide/ as one text: for the reference page, and for programs. */

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
  'tools',
];

/**
 * RATE_LIMIT_EXCEEDED becomes 429 Rate limit exceeded. Readers search for the status, and in headings Scalar takes the
 * underscores for emphasis.
 */
const headingOf = (code: ErrorCode): string =>
  `${statusOf(code)} ${code[0]}${code.slice(1).toLowerCase().replaceAll('_', ' ')}`;

/** The heading that `#rate_limit_exceeded` leads to, as Scalar names its place. */
function placeOf(heading: string): string {
  const code = errorCodes.find((code) => code.toLowerCase() === heading);
  return code === undefined ? heading : headingOf(code).toLowerCase().replaceAll(' ', '-');
}

/** Links between chapters, `errors.md#unknown_name`, `errors.md` or `#unknown_name`, as links inside of one text. */
const linked = (
  text: string,
  anchor: (file: string | undefined, heading: string | undefined) => string,
): string =>
  text.replace(
    /\]\((?:([a-z]+)\.md)?(?:#([\w-]+))?\)/g,
    (_link, file?: string, heading?: string) => `](#${anchor(file, heading)})`,
  );

const chapter = (name: string): string =>
  readFileSync(new URL(`../../docs/guide/${name}.md`, import.meta.url), 'utf8')
    // The words after the language of a block are for the tests, not for readers.
    .replace(/^```(\w+) .*$/gm, '```$1');

const CHAPTERS_TEXT = CHAPTERS.map(chapter).join('\n\n');

/** Markdown, one text with a heading for each chapter. */
export const guideText = (): string => linked(CHAPTERS_TEXT, (file, heading) => String(heading ?? file));

/** The same with links and headings as Scalar names them. It starts with a heading. */
export const guideForPage = (): string =>
  linked(
    CHAPTERS_TEXT
      // Each code gets a place in the sidebar, which shows two levels.
      .replace(
        /^### ([A-Z_]+)\n\nStatus /gm,
        (_heading, code: ErrorCode) => `## ${headingOf(code)}\n\n\`${code}\`, status `,
      ),
    (file, heading) => `description/${heading === undefined ? file : placeOf(heading)}`,
  );
