import { readFile } from 'node:fs/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { escaped, htmlPage } from './page.ts';

/** The files of docs/guide/, in the order of the page and of README.md. */
export const CHAPTERS =
  'start records keys errors retries syncing caching searching importing limits attachments agents tools leaving changes'.split(
    ' ',
  );

const EXAMPLE_ADDRESS = 'http://localhost:3000';

/** Without the marks that tests need after the language of a block. */
async function read(chapter: string, address: string): Promise<string> {
  const text = await readFile(new URL(`../../docs/guide/${chapter}.md`, import.meta.url), 'utf8');
  return (
    text
      // Removes the marks of `npm run docs`. `$` in a replacement text would be special.
      .replace(/^<!-- .* -->\n\n/gm, '')
      .replaceAll(EXAMPLE_ADDRESS, () => address)
      .replace(/^```(\w+) .*$/gm, '```$1')
      .replace(
        /\]\((?:([a-z]+)\.md)?(?:#([\w-]+))?\)/g,
        (_link, file?: string, heading?: string) => `](#${heading ?? file})`,
      )
  );
}

const readAll = (address: string) => Promise.all(CHAPTERS.map((chapter) => read(chapter, address)));

/** All chapters as one Markdown text. */
export const guideText = async (address: string): Promise<string> => (await readAll(address)).join('\n\n');

/** The anchor that GitHub gives a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-');

/** The keyboard can scroll what is wider than the window. */
const COPIED = '<button type="button">Copy</button>\n<pre tabindex="0">';

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
  let html = '';
  for (const chapter of await readAll(address)) {
    html += await marked.parse(chapter);
    // Other requests are served between the chapters.
    await nextTurn();
  }
  return htmlPage(
    title,
    `<link rel="icon" href="../favicon.ico">
<link rel="stylesheet" href="guide.css">
<script type="module" src="guide.js"></script>
`,
    `<body>
<a class="skip" href="#start">Skip to the text</a>
<header>
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
${html.replaceAll('<pre>', COPIED).replaceAll('<table>', '<table tabindex="0">')}</main>
</body>`,
  );
}
