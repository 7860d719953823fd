import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { Environment } from '../../src/config.ts';

const root = new URL('../../', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8');

/** What the programs of a folder import, by the paths of both; a package by its name. */
const importsIn = (folder: string, form: RegExp) =>
  readdirSync(new URL(folder, root), { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.[jt]s$/.test(file))
    .flatMap((file) =>
      Array.from(read(folder + file).matchAll(form), ([, from, lazily]) => {
        const name = String(from ?? lazily);
        return { by: folder + file, name, path: join(folder, dirname(file), name) };
      }),
    );

test('folders of src/ stand on each other: no circle of imports between them, types included', () => {
  // src/ itself has a room for each of its files.
  const roomOf = (file: string): string => (dirname(file) === 'src' ? file : dirname(file));
  const rooms = new Map<string, Set<string>>();
  for (const { by, path } of importsIn('src/', /from '(\.[^']+)'/g)) {
    const entered = rooms.get(roomOf(by)) ?? new Set();
    rooms.set(roomOf(by), entered);
    if (roomOf(path) !== roomOf(by)) entered.add(roomOf(path));
  }
  /** The rooms that a room stands on, directly or not. */
  const below = (room: string, found = new Set<string>()): Set<string> => {
    for (const next of rooms.get(room) ?? []) if (!found.has(next)) below(next, found.add(next));
    return found;
  };
  expect(rooms.size).toBeGreaterThan(15);
  expect([...rooms.keys()].filter((room) => below(room).has(room))).toEqual([]);
});

describe('what is deployed', () => {
  test('has all that the service imports: no file outside of src/ and rules/, no development dependency', () => {
    const { dependencies } = JSON.parse(read('package.json')) as { dependencies: Record<string, string> };
    const packageOf = (name: string) => /^(@[^/]+\/)?[^/]+/.exec(name)?.[0] ?? name;
    const values = /^(?:import|export) (?!type )(?:[^;'=(]+ from )?'([^']+)';$|import\('([^']+)'\)/gm;
    const missing = ['src/', 'rules/']
      .flatMap((folder) => importsIn(folder, values))
      .filter(({ name, path }) =>
        name.startsWith('.')
          ? !/^(src|rules)\//.test(path)
          : !name.startsWith('node:') && !(packageOf(name) in dependencies),
      )
      .map(({ by, name }) => `${by} imports ${name}`);
    // The demo is not in the image: its command says so, and it is loaded beside the embedded database alone.
    expect(missing.sort()).toEqual([
      'src/cli/demo.ts imports ../../demo/fill.ts',
      'src/server.ts imports ../demo/load.ts',
    ]);
  });

  test('is handed every variable of the service, and asks the health of its process alone', () => {
    const [, api = ''] = /^ {2}api:\n([\s\S]*?)(?=^ {2}\w)/m.exec(read('docker-compose.yml')) ?? [];
    const handed = new Map(
      Array.from(api.matchAll(/^ {6}([A-Z_\d]+): (.+)$/gm), ([, name = '', value = '']) => [name, value]),
    );
    expect(Object.keys(Environment.shape).filter((name) => !handed.has(name))).toEqual([]);
    const fixed = [
      'DASHBOARD_HOST',
      'DASHBOARD_PORT',
      'DATABASE_DIRECT_URL',
      'DATABASE_URL',
      'DATA_DIR',
      'HOST',
      'PORT',
    ];
    const open = [...handed]
      .filter(([name, value]) => value.startsWith(`\${${name}:-`))
      .map(([name]) => name);
    expect([...handed.keys()].filter((name) => !open.includes(name)).sort()).toEqual(fixed);
    expect(read('Dockerfile')).toMatch(/^HEALTHCHECK .*\\\n.*\/livez`/m);
  });

  test('starts under systemd as in the image, with variables of the service, and has longer to end than the service takes', () => {
    const unit = read('deploy/travel-agency-crm-api.service');
    const image = read('Dockerfile');
    const set = [...unit.matchAll(/^Environment=(.+)$/gm)].flatMap(([, line = '']) => line.split(' '));
    const [ofNode, ofService] = [true, false].map((isNode) =>
      set.filter((variable) => variable.startsWith('NODE_') === isNode),
    );
    expect(ofNode?.filter((variable) => !image.includes(variable))).toEqual([]);
    const names = ofService?.map((variable) => variable.split('=')[0]) ?? [];
    expect(names.sort()).toEqual(['DATA_DIR', 'HOST', 'TRUST_PROXY']);
    expect(names.filter((name) => !(String(name) in Environment.shape))).toEqual([]);
    const [, program = ''] = /^ExecStart=\S+\/node (.+)$/m.exec(unit) ?? [];
    expect(image).toContain(`CMD ["node", "${program}"]`);
    const [, grace] = /^ {4}stop_grace_period: (\d+)s$/m.exec(read('docker-compose.yml')) ?? [];
    expect(unit).toContain(`TimeoutStopSec=${grace}\n`);
  });

  test('has all that the service reads', () => {
    const copied = [...read('Dockerfile').matchAll(/^COPY (.+) \S+$/gm)].flatMap(([, from = '']) =>
      from.split(' '),
    );
    const named = read('.dockerignore')
      .split('\n')
      .filter((line) => line.startsWith('!'));
    expect(copied.map((path) => `!${path}`).sort()).toEqual(named.sort());
    const files = importsIn('src/', /new URL\([`'](?:\.\.\/)*(?!node_modules)(\w[\w./-]*)/g).map(
      ({ name }) => name,
    );
    expect(files.sort()).toEqual(['docs/guide/', 'migrations/', 'package.json', 'package.json']);
    expect(files.filter((file) => !copied.some((path) => `${file}/`.startsWith(`${path}/`)))).toEqual([]);
  });
});
