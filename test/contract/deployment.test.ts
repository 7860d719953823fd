import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';

const root = new URL('../../', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8');

describe('what is deployed', () => {
  test('has all that the service imports: no file outside of src/ and rules/, no development dependency', () => {
    const { dependencies } = JSON.parse(read('package.json')) as { dependencies: Record<string, string> };
    const packageOf = (name: string) => /^(@[^/]+\/)?[^/]+/.exec(name)?.[0] ?? name;
    const folders = ['src/', 'rules/'];
    const missing = folders
      .flatMap((folder) =>
        readdirSync(new URL(folder, root), { recursive: true, encoding: 'utf8' }).map(
          (path) => folder + path,
        ),
      )
      .filter((path) => /\.[jt]s$/.test(path))
      .flatMap((path) => {
        const file = new URL(path, root);
        const values = /^(?:import|export) (?!type )(?:[^;'=(]+ from )?'([^']+)';$|import\('([^']+)'\)/gm;
        return [...readFileSync(file, 'utf8').matchAll(values)]
          .map(([, from, lazily]) => String(from ?? lazily))
          .filter((name) =>
            name.startsWith('.')
              ? !folders.some((folder) =>
                  new URL(name, file).pathname.startsWith(new URL(folder, root).pathname),
                )
              : !name.startsWith('node:') && !(packageOf(name) in dependencies),
          )
          .map((name) => `${path} imports ${name}`);
      });
    // The demo is not in the image: its command says so, and it is loaded beside the embedded database alone.
    expect(missing.sort()).toEqual([
      'src/cli/demo.ts imports ../../demo/fill.ts',
      'src/server.ts imports ../demo/load.ts',
    ]);
  });

  test('has all that the service reads', () => {
    const copied = [...read('Dockerfile').matchAll(/^COPY (.+) \S+$/gm)].flatMap(([, from = '']) =>
      from.split(' '),
    );
    const named = read('.dockerignore')
      .split('\n')
      .filter((line) => line.startsWith('!'));
    expect(copied.map((path) => `!${path}`).sort()).toEqual(named.sort());
    const files = readdirSync(new URL('src/', root), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.ts'))
      .flatMap((path) => [...read(`src/${path}`).matchAll(/new URL\([`'](?:\.\.\/)*(\w[\w./-]*)/g)])
      .map(([, path = '']) => path);
    expect(files.sort()).toEqual(['docs/guide/', 'migrations/', 'package.json', 'package.json']);
    expect(files.filter((file) => !copied.some((path) => `${file}/`.startsWith(`${path}/`)))).toEqual([]);
  });
});
