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

/** The tour of the dashboard API: a shell script for a service at these addresses. */
export function readmeTour(at: { api: string; dashboard: string; token: string }): string {
  const part = README.slice(README.indexOf('<!-- tour -->'), README.indexOf('<!-- end of tour -->'));
  const [, script] = /```sh\n([\s\S]+?)```/.exec(part) ?? [];
  if (script === undefined) throw new Error('README.md has no tour.');
  return script
    .replace(/^API=.*$/m, `API=${at.api}`)
    .replace(/^DASHBOARD=.*$/m, `DASHBOARD=${at.dashboard}`)
    .replace(/^TOKEN=.*$/m, `TOKEN=${at.token}`);
}
