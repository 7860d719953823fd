import { globSync, readFileSync } from 'node:fs';

const root = new URL('../../', import.meta.url);

export type MarkdownDocument = { path: string; text: string };

const read = (path: string): MarkdownDocument => ({ path, text: readFileSync(new URL(path, root), 'utf8') });

/** The Markdown documents that are checked. */
export const documents: readonly MarkdownDocument[] = globSync(
  ['*.md', 'src/db/README.md', 'test/README.md', 'docs/**/*.md'],
  { cwd: root },
)
  .sort()
  .map(read);

export function documentAt(path: string): string {
  const document = documents.find((candidate) => candidate.path === path);
  if (!document) throw new Error(`There is no ${path}.`);
  return document.text;
}

export const README = documentAt('README.md');
