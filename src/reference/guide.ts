import { readFile } from 'node:fs/promises';
import type { Tokens } from 'marked';
import { escaped, htmlPage } from './page.ts';

/** The files of docs/guide/, in the order of the pages and of README.md. */
export const CHAPTERS =
  'start keys errors retries syncing caching searching importing limits attachments agents tools leaving'.split(
    ' ',
  );

type Section = { id: string; title: string; text: string };

const EXAMPLE_ADDRESS = 'http://localhost:3000';

async function read(chapter: string, address: string): Promise<string> {
  const text = await readFile(new URL(`../../docs/guide/${chapter}.md`, import.meta.url), 'utf8');
  // Removes the marks of `npm run docs`. `$` in a replacement text would be special.
  return text.replace(/^<!-- .* -->\n\n/gm, '').replaceAll(EXAMPLE_ADDRESS, () => address);
}

/** All chapters as one Markdown text, without the marks that tests need after the language of a block. */
export async function guideText(address: string): Promise<string> {
  const chapters = await Promise.all(CHAPTERS.map((chapter) => read(chapter, address)));
  return chapters
    .join('\n\n')
    .replace(/^```(\w+) .*$/gm, '```$1')
    .replace(
      /\]\((?:([a-z]+)\.md)?(?:#([\w-]+))?\)/g,
      (_link, file?: string, heading?: string) => `](#${heading ?? file})`,
    );
}

/** The anchor that GitHub gives a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-');

/** Loaded with the first page, because the libraries are large. */
async function loadMarked() {
  const { Marked } = await import('marked');
  const { default: highlighter } = await import('highlight.js/lib/common');
  highlighter.registerLanguage('http', (await import('highlight.js/lib/languages/http')).default);
  return new Marked({
    walkTokens(token) {
      if (token.type === 'link') token.href = token.href.replace('.md', '');
    },
    renderer: {
      heading({ depth, text, tokens }) {
        return `<h${depth} id="${anchorOf(text)}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
      },
      code({ text, lang = '' }) {
        const [language = ''] = lang.split(' ');
        const { value } = highlighter.highlight(text, { language });
        return `<div class="code"><pre><code>${value}</code></pre><button type="button" aria-live="polite">Copy</button></div>\n`;
      },
    },
  });
}

function sectionsOf(chapter: string, tokens: { type: string; raw: string }[]): Section[] {
  const sections: Section[] = [];
  for (const token of tokens) {
    const { text: title } = token as Tokens.Heading;
    if (token.type === 'heading') sections.push({ id: `${chapter}#${anchorOf(title)}`, title, text: '' });
    else (sections.at(-1) as Section).text += token.raw;
  }
  return sections;
}

export async function renderChapters(address: string) {
  const marked = await loadMarked();
  return Promise.all(
    CHAPTERS.map(async (chapter) => {
      const text = await read(chapter, address);
      const html = await marked.parse(text);
      return {
        chapter,
        sections: sectionsOf(chapter, marked.lexer(text)),
        // tabindex lets the keyboard scroll what is wider than the window.
        html: html.replace(/<(pre|table)>/g, '<$1 tabindex="0">'),
      };
    }),
  );
}

type Rendered = Awaited<ReturnType<typeof renderChapters>>;

const titleOf = (chapter: string): string => `${chapter[0]?.toUpperCase()}${chapter.slice(1)}`;

export function chapterPage(chapters: Rendered, index: number, name: string): string {
  const links = chapters.map(({ chapter, sections: [, ...sections] }, position) => {
    if (position !== index) return `<li><a href="${chapter}">${titleOf(chapter)}</a></li>`;
    const headings = sections.map(
      ({ id, title }) => `<li><a href="${id.replace(chapter, '')}">${escaped(title)}</a></li>`,
    );
    return `<li><a href="${chapter}" aria-current="page">${titleOf(chapter)}</a>\n<ol>\n${headings.join('\n')}\n</ol></li>`;
  });
  const next = chapters[index + 1]?.chapter;
  return htmlPage(
    `${titleOf(chapters[index]?.chapter ?? '')} · ${name}`,
    `<link rel="icon" href="../../favicon.ico">
<link rel="stylesheet" href="guide.css">
<script type="module" src="guide.js"></script>
`,
    `<body class="markdown-body">
<a class="skip" href="#chapter">Skip to the text</a>
<header>
<a href="start"><strong>${escaped(name)}</strong></a>
<form role="search">
<input type="search" placeholder="Search" aria-label="Search the guide" autocomplete="off">
<output></output>
</form>
<nav aria-label="Chapters">
<ol>
${links.join('\n')}
</ol>
</nav>
<nav class="documents" aria-label="Documents">
<a href="../">Reference</a>
<a href="../../openapi.json">OpenAPI</a>
<a href="../guide.md">Markdown</a>
</nav>
</header>
<main id="chapter" tabindex="-1">
${chapters[index]?.html}${next ? `<p class="next">Next: <a href="${next}">${titleOf(next)}</a></p>\n` : ''}</main>
</body>`,
  );
}
