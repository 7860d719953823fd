import { readFile } from 'node:fs/promises';
import { escaped, htmlPage } from './page.ts';

/** The files of docs/guide/, in the order of the page and of README.md. */
export const CHAPTERS =
  'start records keys errors retries syncing caching searching importing limits attachments agents tools leaving changes'.split(
    ' ',
  );

const EXAMPLE_ADDRESS = 'http://localhost:3000';

/** Without the marks of `npm run docs`, and those of tests behind the language of a block. */
async function read(chapter: string, address: string): Promise<string> {
  const text = await readFile(new URL(`../../docs/guide/${chapter}.md`, import.meta.url), 'utf8');
  return (
    text
      .replace(/^<!-- .* -->\n\n/gm, '')
      .replace(/^```(\w+) .*$/gm, '```$1')
      // `$` in a replacement text would be special.
      .replaceAll(EXAMPLE_ADDRESS, () => address)
      .replace(
        /\]\((?:([a-z]+)\.md)?(?:#([\w-]+))?\)/g,
        (_link, file?: string, heading?: string) => `](#${heading ?? file})`,
      )
  );
}

/** All chapters as one Markdown text. */
export const guideText = async (address: string): Promise<string> =>
  (await Promise.all(CHAPTERS.map((chapter) => read(chapter, address)))).join('\n\n');

/** The anchor that GitHub gives a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-');

const CSS = `
:root { color-scheme: light dark; font: 1rem / 1.6 system-ui, sans-serif; }
body { display: grid; grid-template-columns: 16rem minmax(0, 1fr); gap: 2rem; max-width: 76rem; margin: 0 auto; padding: 0 1rem; }
a { color: inherit; }
header { position: sticky; top: 0; max-height: 100vh; overflow-y: auto; font-size: 0.9rem; }
header ol { padding: 0; list-style: none; }
.level-2 { padding-left: 1rem; }
h1 { margin-top: 4rem; }
:is(h1, h2, h3) { scroll-margin-top: 1rem; }
:is(pre, table) { display: block; overflow-x: auto; padding: 0.75rem; border: 1px solid GrayText; border-radius: 6px; line-height: 1.4; }
:is(td, th) { padding: 0.25rem 0.75rem 0.25rem 0; text-align: left; vertical-align: top; }
@media (max-width: 800px) {
  body { display: block; }
  header { position: static; max-height: none; }
  .level-2 { display: none; }
}`;

/** All chapters on one page, which the browser searches. */
export async function guidePage(title: string, address: string): Promise<string> {
  const { Marked } = await import('marked');
  const contents: string[] = [];
  const marked = new Marked({
    renderer: {
      heading({ depth, text, tokens }) {
        const id = anchorOf(text);
        const name = escaped(text.replaceAll('`', ''));
        if (depth <= 2) contents.push(`<li class="level-${depth}"><a href="#${id}">${name}</a></li>`);
        return `<h${depth} id="${id}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
      },
    },
  });
  const html = await marked.parse(await guideText(address));
  return htmlPage(
    title,
    CSS,
    `<header>
<strong>${escaped(title)}</strong>
<p>Programs and AI agents read and write the data of one travel agency: its catalog, customers, sales and conversations.</p>
<nav aria-label="Documents">
<a href="./">Reference</a>
<a href="../openapi.json">OpenAPI</a>
<a href="guide.md">Markdown</a>
</nav>
<nav aria-label="Chapters">
<ol>
${contents.join('\n')}
</ol>
</nav>
</header>
<main>
${html.replaceAll(/<(pre|table)>/g, '<$1 tabindex="0">')}</main>`,
  );
}
