import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { errorCodes } from '../../src/errors.ts';
import { README } from '../support/readme.ts';

const root = new URL('../../', import.meta.url);
const manifest = JSON.parse(readFileSync(new URL('package.json', root), 'utf8'));

describe('README.md', () => {
  test('names only npm scripts that exist', () => {
    const named = [...README.matchAll(/npm run ([\w:-]+)/g)].map(([, script]) => script);
    expect(named.length).toBeGreaterThan(5);
    expect(named.filter((script) => !(String(script) in manifest.scripts))).toEqual([]);
  });

  test('leads only to files that exist', () => {
    const links = [...README.matchAll(/\]\(([^)#]+)\)/g)].map(([, path]) => String(path));
    const named = [...README.matchAll(/`((?:src|test|bench|openapi|migrations)\/[\w./-]*)`/g)].map(
      ([, path]) => String(path),
    );
    const local = [...links, ...named].filter((path) => !path.startsWith('http'));
    expect(local.length).toBeGreaterThan(3);
    expect(local.filter((path) => !existsSync(new URL(path, root)))).toEqual([]);
  });

  test('shows the folders of src as they are', () => {
    const map = README.slice(README.indexOf('src/\n'), README.indexOf('migrations/  '));
    const folders = [...map.matchAll(/(\w+)\/(?= )/g)].map(([, folder]) => folder);
    expect(folders.length).toBeGreaterThan(10);
    expect(folders.filter((folder) => !existsSync(new URL(`src/${folder}/`, root)))).toEqual([]);
  });

  test('gives a reason for every dependency, and for nothing else', () => {
    const table = README.slice(README.indexOf('| package | reason |'));
    const rows = table.slice(0, table.indexOf('\n\n')).split('\n').slice(2);
    const named = rows.flatMap((row) =>
      (row.split('|')[1] ?? '').split(',').map((name) => name.trim().replace(/ \(.*\)$/, '')),
    );
    const { dependencies, devDependencies, optionalDependencies } = manifest;
    const present = Object.keys({ ...dependencies, ...devDependencies, ...optionalDependencies });
    expect(named.sort()).toEqual(present.filter((name) => !name.startsWith('@types/')).sort());
  });

  test('names only error codes that exist', () => {
    const named = [...README.matchAll(/`([A-Z]+(?:_[A-Z]+)+)`/g)].map(([, code]) => String(code));
    const codes = named.filter((code) =>
      /(_NOT_FOUND|_FAILED|_CONFLICT|_INVALID|_TOO_LARGE|_EXCEEDED|_UNAVAILABLE|_ERROR)$/.test(code),
    );
    expect(codes.length).toBeGreaterThan(5);
    expect(codes.filter((code) => !errorCodes.includes(code as (typeof errorCodes)[number]))).toEqual([]);
  });
});

test('the image starts the service as npm start does', () => {
  const dockerfile = readFileSync(new URL('Dockerfile', root), 'utf8');
  const command = JSON.parse(/^CMD (.*)$/m.exec(dockerfile)?.[1] ?? '[]');
  expect(command.join(' ')).toBe(manifest.scripts.start);
});
