import { readFile } from 'node:fs/promises';
import type { RendererObject, Tokens } from 'marked';
import { EXAMPLE_ADDRESS } from './serve.ts';

/** The chapters of docs/guide/: as pages, and as one text for programs. */

/** In the order of the pages, and of README.md. */
export const CHAPTERS = [
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
  'leaving',
] as const;

type Chapter = (typeof CHAPTERS)[number];

/** Without the marks around what `npm run docs` writes. */
async function read(chapter: Chapter): Promise<string> {
  const text = await readFile(new URL(`../../docs/guide/${chapter}.md`, import.meta.url), 'utf8');
  return text.replace(/^<!-- .* -->\n\n/gm, '');
}

/** Markdown, one text with a heading for each chapter. The words after the language of a block are for the tests. */
export async function guideText(address: string): Promise<string> {
  const chapters = await Promise.all(CHAPTERS.map(read));
  return (
    chapters
      .join('\n\n')
      .replace(/^```(\w+) .*$/gm, '```$1')
      .replace(
        /\]\((?:([a-z]+)\.md)?(?:#([\w-]+))?\)/g,
        (_link, file?: string, heading?: string) => `](#${heading ?? file})`,
      )
      // A function: in a text, `$` would have a meaning.
      .replaceAll(EXAMPLE_ADDRESS, () => address)
  );
}

export const escaped = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

/** The anchor of a heading, as GitHub makes it. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-');

/** What Markdown is made into, and the program that makes it. They are loaded with the first page that is read. */
async function renderer() {
  const { Marked } = await import('marked');
  const { default: highlighter } = await import('highlight.js/lib/core');
  const languages = {
    sh: await import('highlight.js/lib/languages/bash'),
    json: await import('highlight.js/lib/languages/json'),
    http: await import('highlight.js/lib/languages/http'),
    ts: await import('highlight.js/lib/languages/typescript'),
  };
  for (const [name, { default: language }] of Object.entries(languages))
    highlighter.registerLanguage(name, language);
  highlighter.registerAliases('jsonc', { languageName: 'json' });

  const forPage: RendererObject = {
    heading({ depth, text, tokens }) {
      return `<h${depth} id="${anchorOf(text)}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
    },
    // Whatever may be wider than the window scrolls, also by keyboard.
    code({ text, lang = '' }) {
      const [language = ''] = lang.split(' ');
      const { value } = highlighter.highlight(text, { language });
      return `<div class="code"><pre tabindex="0"><code>${value}</code></pre></div>\n`;
    },
    table(token: Tokens.Table) {
      const row = (tag: string, cells: Tokens.TableCell[]) =>
        `<tr>${cells.map(({ tokens }) => `<${tag}>${this.parser.parseInline(tokens)}</${tag}>`).join('')}</tr>`;
      const rows = token.rows.map((cells) => row('td', cells)).join('\n');
      return `<div class="table" tabindex="0"><table><thead>${row('th', token.header)}</thead><tbody>${rows}</tbody></table></div>\n`;
    },
    link({ href, tokens }) {
      return `<a href="${escaped(href.replace('.md', ''))}">${this.parser.parseInline(tokens)}</a>`;
    },
  };
  return new Marked({ renderer: forPage });
}

let rendering: ReturnType<typeof renderer> | undefined;

/** A chapter as HTML, with its title and the headings below it. */
export async function renderedChapter(chapter: Chapter) {
  rendering ??= renderer();
  const marked = await rendering;
  const tokens = marked.lexer(await read(chapter));
  const [title, ...headings] = tokens
    .filter((token): token is Tokens.Heading => token.type === 'heading')
    .map(({ depth, text }) => ({ depth, text, anchor: anchorOf(text) }));
  return { title: title?.text ?? chapter, headings, html: marked.parser(tokens) };
}
