import { CHAPTERS, escaped, renderedChapter } from './guide.ts';
import { htmlText } from './scalar.ts';
import { EXAMPLE_ADDRESS, type Text } from './serve.ts';

/** A page of the guide. It needs no script: the one that it has adds the buttons that copy. */

const titleOf = (chapter: string): string => `${chapter[0]?.toUpperCase()}${chapter.slice(1)}`;

export async function chapterPage(
  chapter: (typeof CHAPTERS)[number],
  name: string,
  address: string,
): Promise<Text> {
  const { title, headings, html } = await renderedChapter(chapter);
  const within = headings
    .map(
      ({ depth, text, anchor }) =>
        `<li class="depth-${depth}"><a href="#${anchor}">${escaped(text)}</a></li>`,
    )
    .join('\n');
  const chapters = CHAPTERS.map((other) =>
    other === chapter
      ? `<li><a href="${other}" aria-current="page">${titleOf(other)}</a>\n<ol>\n${within}\n</ol></li>`
      : `<li><a href="${other}">${titleOf(other)}</a></li>`,
  ).join('\n');
  const next = CHAPTERS[CHAPTERS.indexOf(chapter) + 1];
  const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)} · ${escaped(name)}</title>
<link rel="icon" href="../../favicon.ico">
<link rel="stylesheet" href="guide.css">
<script type="module" src="guide.js"></script>
</head>
<body>
<a class="skip" href="#chapter">Skip to the text</a>
<header>
<a class="name" href="start">${escaped(name)}</a>
<nav aria-label="Documents">
<a href="../">Reference</a>
<a href="../../openapi.json">OpenAPI</a>
<a href="../guide.md">Markdown</a>
</nav>
</header>
<nav class="chapters" aria-label="Chapters">
<ol>
${chapters}
</ol>
</nav>
<main id="chapter" tabindex="-1">
${html}${next ? `<p class="next">Next: <a href="${next}">${titleOf(next)}</a></p>\n` : ''}</main>
</body>
</html>
`;
  return htmlText(page.replaceAll(EXAMPLE_ADDRESS, () => escaped(address)));
}
