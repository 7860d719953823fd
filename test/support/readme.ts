import { readFileSync } from 'node:fs';

export const README = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');

/** The curl at the top of the README: the path that it calls and the answer that it promises. */
export function readmeExample(): { path: string; answer: unknown } {
  const part = README.slice(README.indexOf('<!-- example -->'), README.indexOf('<!-- end of example -->'));
  const [, path] =
    /curl -s 'http:\/\/localhost:3000([^']+)' -H "Authorization: Bearer \$KEY"/.exec(part) ?? [];
  const [, answer] = /```json\n([\s\S]+?)```/.exec(part) ?? [];
  if (path === undefined || answer === undefined) throw new Error('README.md has no example.');
  return { path, answer: JSON.parse(answer) };
}
