import { globSync, readFileSync } from 'node:fs';

const root = new URL('../../', import.meta.url);

export const documents = globSync(['*.md', 'src/db/README.md', 'test/README.md', 'docs/**/*.md'], {
  cwd: root,
})
  .sort()
  .map((path) => ({ path, text: readFileSync(new URL(path, root), 'utf8') }));

export function documentAt(path: string): string {
  const document = documents.find((candidate) => candidate.path === path);
  if (!document) throw new Error(`There is no ${path}.`);
  return document.text;
}

/** The first groups of all matches in a text. */
export const groupsOf = (text: string, pattern: RegExp): string[] =>
  [...text.matchAll(pattern)].map(([, group]) => String(group));

export const README = documentAt('README.md');
