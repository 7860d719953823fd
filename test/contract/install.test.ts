import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

/** What `npm ci` brings, read from the lock files. */

type Package = { libc?: string[]; resolved?: string; link?: boolean };

const packagesOf = (path: string): [name: string, found: Package][] =>
  Object.entries(
    (
      JSON.parse(readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')) as {
        packages: Record<string, Package>;
      }
    ).packages,
  ).filter(([name]) => name.includes('node_modules/'));

test.each(['package-lock.json', 'tools/package-lock.json'])(
  '%s says which C library a package is for: npm installs both otherwise. A current npm writes that',
  (path) => {
    const forMusl = packagesOf(path).filter(([name]) => name.endsWith('-musl'));
    expect(forMusl.length).toBeGreaterThan(0);
    for (const [name, { libc }] of forMusl) expect(libc, name).toEqual(['musl']);
  },
);

test.each(['', 'tools/'])('%spackage-lock.json names no registry, and npm install writes none', (folder) => {
  const named = packagesOf(`${folder}package-lock.json`)
    .filter(([, { resolved, link }]) => resolved !== undefined && !link)
    .map(([name]) => name);
  const rule = 'omit-lockfile-registry-resolved=true';
  expect(named, `Run npm install where .npmrc has ${rule}: \`resolved\` names a registry`).toEqual([]);
  const npmrc = readFileSync(new URL(`../../${folder}.npmrc`, import.meta.url), 'utf8');
  expect(npmrc.split('\n')).toContain(rule);
});
