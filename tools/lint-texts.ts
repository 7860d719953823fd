import { existsSync, globSync, readFileSync } from 'node:fs';
import { errorCodes } from '../src/contract/errors.ts';

/** Fails if a document names a script, file, heading or error code that does not exist. */

const read = (path: string): string => readFileSync(path, 'utf8');
const { scripts } = JSON.parse(read('package.json'));
const all = (text: string, pattern: RegExp): string[] =>
  Array.from(text.matchAll(pattern), ([, group]) => String(group));

const FOLDERS = 'src|rules|test|bench|client|crm|demo|deploy|docs|examples|openapi|migrations|n8n|tools';
const FILE = new RegExp(`\`((?:${FOLDERS})/[\\w./-]*)\``, 'g');
const SCRIPT = /npm run (?!--)([\w:-]+)/g;
const CODE =
  /\b([A-Z]+(?:_[A-Z]+)*_(?:NOT_FOUND|FAILED|CONFLICT|TOO_LARGE|EXCEEDED|UNAVAILABLE|LINK_INVALID|INTERNAL_ERROR|NOT_ARCHIVED|KEY_INACTIVE))\b/g;
/** The headings of a Markdown document, outside of its code blocks. */
const headingsOf = (path: string): string[] =>
  all(read(path).replace(/^```[\s\S]*?^```$/gm, ''), /^#+ (.+)$/gm);

/** The anchor that GitHub generates for a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-');

function isBrokenLink(link: string, from: string): boolean {
  const { pathname, hash } = new URL(link, new URL(from, `file://${process.cwd()}/`));
  if (!existsSync(pathname)) return true;
  return hash !== '' && !headingsOf(pathname).map(anchorOf).includes(hash.slice(1));
}

for (const path of globSync(['*.md', 'src/*/README.md', 'test/README.md', 'docs/**/*.md'])) {
  const text = read(path);
  const links = all(text, /\]\(([^)]+)\)/g).filter((link) => !/^https?:/.test(link));
  const broken = [
    ...all(text, SCRIPT).filter((script) => !(script in scripts)),
    ...links.filter((link) => isBrokenLink(link, path)),
    ...all(text, FILE).filter((file) => !existsSync(file)),
    ...all(text, CODE).filter((code) => !(errorCodes as readonly string[]).includes(code)),
  ];
  for (const name of broken) console.log(`${path} names ${name}`);
  if (broken.length > 0) process.exitCode = 1;
}
