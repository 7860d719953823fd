import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { Environment } from '../../src/config.ts';

const root = new URL('../../', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8');

/** What the programs of a folder import: the name as it is written, and as a path from the root. */
const importsIn = (folder: string, pattern: RegExp) =>
  globSync(`${folder}/**/*.{js,ts}`, { cwd: root }).flatMap((file) =>
    Array.from(read(file).matchAll(pattern), ([, from, lazily]) => {
      const name = String(from ?? lazily);
      return { by: file, name, path: join(dirname(file), name) };
    }),
  );

describe('what is deployed', () => {
  test('has everything that the service imports: files of src/ and rules/, and dependencies', () => {
    const { dependencies } = JSON.parse(read('package.json')) as { dependencies: Record<string, string> };
    const packageOf = (name: string) => /^(@[^/]+\/)?[^/]+/.exec(name)?.[0] ?? name;
    const values = /^(?:import|export) (?!type )(?:[^;'=(]+ from )?'([^']+)';$|import\('([^']+)'\)/gm;
    const absent = ['src', 'rules', 'demo']
      .flatMap((folder) => importsIn(folder, values))
      .filter(({ name, path }) =>
        name.startsWith('.')
          ? !/^(src|rules|demo)\//.test(path)
          : !name.startsWith('node:') && !(packageOf(name) in dependencies),
      )
      .map(({ by, name }) => `${by} imports ${name}`);
    expect(absent).toEqual([]);
  });

  test('gets every variable of the service by docker-compose.yml, and is checked at /livez', () => {
    const [, api = ''] = /^ {2}api:\n([\s\S]*?)(?=^ {2}\w)/m.exec(read('docker-compose.yml')) ?? [];
    const variables = Array.from(api.matchAll(/^ {6}([A-Z_\d]+): /gm), ([, name]) => name);
    expect(variables).toEqual(expect.arrayContaining(Object.keys(Environment.shape)));
    // The migrations run as the owner of the database, in a container that ends.
    expect(api).not.toContain('POSTGRES_PASSWORD');
    expect(read('Dockerfile')).toMatch(/^HEALTHCHECK .*\\\n.*\/livez`/m);
  });

  test('starts under systemd as in the image, and may take as long to stop as under Docker', () => {
    const unit = read('deploy/travel-agency-crm-api.service');
    const image = read('Dockerfile');
    const [, program = ''] = /^ExecStart=\S+\/node (.+)$/m.exec(unit) ?? [];
    expect(image).toContain(`CMD ["node", "${program}"]`);
    const [, grace] = /^ {4}stop_grace_period: (\d+)s$/m.exec(read('docker-compose.yml')) ?? [];
    expect(unit).toContain(`TimeoutStopSec=${grace}\n`);
  });

  test('has every file that the service reads', () => {
    const copies = [...read('Dockerfile').matchAll(/^COPY (.+) \S+$/gm)];
    const copied = copies.flatMap(([, from = '']) => from.split(' '));
    const allowed = [...read('.dockerignore').matchAll(/^!(.+)$/gm)].map(([, path]) => path);
    expect(copied.sort()).toEqual(allowed.sort());
    const files = importsIn('src', /new URL\([`'](?:\.\.\/)*(?!node_modules)(\w[\w./-]*)/g);
    const names = files.map(({ name }) => name);
    expect(names.sort()).toEqual(['docs/guide/', 'migrations/', 'openapi/', 'package.json']);
    expect(names.filter((name) => !copied.some((path) => `${name}/`.startsWith(`${path}/`)))).toEqual([]);
  });
});
