import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

/** What `npm ci` installs, according to the lock files. */

type Package = {
  version?: string;
  libc?: string[];
  resolved?: string;
  link?: boolean;
  integrity?: string;
} & {
  hasInstallScript?: boolean;
  bin?: Record<string, string>;
};

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

test.each(['', 'tools/'])(
  '%spackage-lock.json names no registry, runs no install script, and has the C library of each package',
  (folder) => {
    const { packages } = JSON.parse(read(`${folder}package-lock.json`)) as {
      packages: Record<string, Package>;
    };
    const { allowScripts } = JSON.parse(read(`${folder}package.json`));
    const rule = 'omit-lockfile-registry-resolved=true';
    expect(read(`${folder}.npmrc`).split('\n')).toContain(rule);
    for (const [name, found] of Object.entries(packages)) {
      if (!name.includes('node_modules/')) continue;
      if (!found.link)
        expect(found.resolved, `${name}: run npm install where .npmrc has ${rule}`).toBeUndefined();
      if (name.endsWith('-musl')) expect(found.libc, name).toEqual(['musl']);
      if (found.hasInstallScript)
        expect(allowScripts[name.replace(/.*node_modules\//, '')], name).toBe(false);
      if (found.bin?.node !== undefined)
        expect(found, name).toMatchObject({
          version: expect.stringMatching(/^24\./),
          integrity: expect.stringMatching(/^sha512-/),
        });
    }
  },
);
