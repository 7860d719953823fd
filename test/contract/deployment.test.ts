import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';

const root = new URL('../../', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8');

const compose = read('docker-compose.yml');

/** The lines of each service by its name, those of the service that it is merged with first. */
const services: Map<string, string[]> = (() => {
  const text = compose.slice(compose.indexOf('\nservices:\n'), compose.indexOf('\nvolumes:\n'));
  const found = new Map<string, string[]>();
  const anchors = new Map<string, string[]>();
  for (const [, name = '', anchor, body = ''] of text.matchAll(
    /^ {2}([\w-]+):(?: &(\w+))?\n((?: {4}.*\n|\n)+)/gm,
  )) {
    const base = /<<: \*(\w+)/.exec(body)?.[1];
    const lines = [...(anchors.get(base ?? '') ?? []), ...body.split('\n').map((line) => line.trim())];
    found.set(name, lines);
    if (anchor) anchors.set(anchor, lines);
  }
  return found;
})();

const linesOf = (name: string): string[] => services.get(name) ?? [];
const isScale = (name: string): boolean => linesOf(name).includes('profiles: [scale]');
const names = [...services.keys()];
const scale = names.filter(isScale);
const instances = names.filter((name) => name.startsWith('api'));

/** An exact version, and the digest that it had when it was chosen. */
const PINNED = /^(?:\$\{[A-Z]+_IMAGE:-)?[\w/]+:v?\d+\.\d+[\w.-]*@sha256:[0-9a-f]{64}\}?$/;

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

  test('is PostgreSQL and one instance, and with the profile scale what many need', () => {
    expect(names.filter((name) => !linesOf(name).some((line) => line.startsWith('profiles:')))).toEqual([
      'postgres',
      'api',
    ]);
    expect(scale).toEqual([
      'api-2',
      'api-3',
      'haproxy',
      'pgbouncer',
      'redis',
      'database',
      'standby',
      'synchronous',
    ]);
    const ports = [...compose.matchAll(/^ {6}- '(?:[\d.]+:)?(\d+):\d+'$/gm)].map(([, port]) => port);
    expect(ports.length).toBeGreaterThan(3);
    expect(new Set(ports).size).toBe(ports.length);
  });

  test('has no password that everybody knows: a start without one says what to set', () => {
    const secrets = [...compose.matchAll(/\$\{(\w*(?:PASSWORD|SECRET|TOKEN|KEY)\w*)(:?[-?][^}]*)?\}/g)];
    expect(secrets.length).toBeGreaterThan(10);
    expect(secrets.filter(([, , otherwise]) => /^:?-./.test(otherwise ?? ''))).toEqual([]);
    for (const name of ['POSTGRES_PASSWORD', 'SERVICE_PASSWORD'])
      expect(compose).toMatch(new RegExp(`\\$\\{${name}:\\?set ${name} in`));
    // These must not be asked of who starts without the profile: the containers ask.
    expect(linesOf('redis').join()).toContain('set REDIS_PASSWORD, and REDIS_URL=redis://:');
    expect(linesOf('pgbouncer').join()).toContain('set DATABASE_ADDRESS=pgbouncer:6432 in .env');
    expect(linesOf('database').join()).toContain('set DATABASE_DIRECT_ADDRESS=database:5432 in .env');
    expect(read('deploy/standby.sh')).toContain('"${REPLICATION_PASSWORD:?set REPLICATION_PASSWORD in .env');
    expect(read('.gitignore').split('\n')).toContain('.env');
  });

  test.each([...instances, ...scale])(
    'runs %s with the least rights and a root that it cannot write',
    (name) => {
      const lines = linesOf(name);
      for (const line of ['read_only: true', 'cap_drop: [ALL]', "security_opt: ['no-new-privileges:true']"])
        expect(lines).toContain(line);
      expect(lines.filter((line) => /^mem_limit: \d+[mg]$/.test(line))).not.toEqual([]);
      if (!instances.includes(name))
        expect(lines.filter((line) => line.startsWith('cap_add')).pop() ?? 'cap_add: []').toBe('cap_add: []');
    },
  );

  test('runs the service as a user without rights, and PostgreSQL with five of the system', () => {
    expect(read('Dockerfile')).toMatch(/^USER node$/m);
    expect(linesOf('postgres')).toContain('cap_drop: [ALL]');
    expect(linesOf('postgres')).toContain('cap_add: [CHOWN, DAC_OVERRIDE, FOWNER, SETGID, SETUID]');
  });

  test.each(scale.filter((name) => name !== 'synchronous'))('knows whether %s works', (name) => {
    const asked = instances.includes(name) ? read('Dockerfile') : linesOf(name).join('\n');
    expect(asked).toMatch(/^healthcheck:|^HEALTHCHECK /m);
    expect(linesOf(name)).toContain('restart: unless-stopped');
  });

  test('works as the role without rights to the schema, and migrates as the owner', () => {
    const api = linesOf('api').join('\n');
    expect(api).toContain('DATABASE_URL: postgres://crm_service:');
    expect(api).toContain('DATABASE_DIRECT_URL: postgres://crm:');
  });

  test('has every file that its containers are given', () => {
    const files = [...compose.matchAll(/^ {6}- \.\/([\w./-]+):/gm)].map(([, file]) => String(file));
    expect(files.length).toBeGreaterThan(8);
    expect(files.filter((file) => !existsSync(new URL(file, root)))).toEqual([]);
  });

  test('leads haproxy, PgBouncer and the address of the primary to services that there are', () => {
    const servers = [...read('deploy/haproxy.cfg').matchAll(/^ {2}server ([\w-]+) ([\w-]+):(\d+) /gm)];
    expect(servers.map(([, name, host, port]) => [name, host, port])).toEqual(
      ['3000', '3001'].flatMap((port) => instances.map((name) => [name, name, port])),
    );
    expect(read('deploy/pgbouncer.ini')).toContain('crm = host=database port=5432 ');
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of haproxy, and of compose.
    expect(read('deploy/haproxy-database.cfg')).toContain('server primary "${PRIMARY}:5432" ');
    // biome-ignore lint/suspicious/noTemplateCurlyInString: as above.
    expect(linesOf('database')).toContain('PRIMARY: ${PRIMARY:-postgres}');
  });

  test('begins with images and with actions that cannot change behind their names', () => {
    expect(read('Dockerfile')).toMatch(
      /^ARG NODE_IMAGE=node:24-bookworm-slim@sha256:[0-9a-f]{64}\nFROM \$\{NODE_IMAGE\}$/m,
    );
    const workflow = read('.github/workflows/ci.yml');
    const imagesOf = (text: string) =>
      [...text.matchAll(/^ +image: (.+)$/gm)].map(([, image]) => String(image));
    expect(imagesOf(compose).length).toBeGreaterThan(6);
    expect(imagesOf(compose).filter((image) => !PINNED.test(image))).toEqual([]);
    // The images of the tests have an exact version at least.
    expect(imagesOf(workflow).filter((image) => !/:\d+\.\d[\w.-]*(@|$)/.test(image))).toEqual([]);
    const actions = [...workflow.matchAll(/uses: (\S+)(.*)/g)];
    expect(actions.length).toBeGreaterThan(3);
    for (const [, action, comment] of actions) {
      expect(action).toMatch(/^[\w-]+\/[\w-]+@[0-9a-f]{40}$/);
      expect(comment).toMatch(/^ # v\d+\.\d+\.\d+$/);
    }
  });

  test('is built, started and tested by jobs that each have a time limit', () => {
    const [, jobs = ''] = read('.github/workflows/ci.yml').split('\njobs:\n');
    const found = [...jobs.matchAll(/^ {2}([\w-]+):\n((?: {4}.*\n|\n)+)/gm)];
    expect(found.length).toBeGreaterThan(5);
    for (const [, name, body] of found) expect(body, name).toMatch(/^ {4}timeout-minutes: \d+$/m);
    const scripts = Object.keys((JSON.parse(read('package.json')) as { scripts: object }).scripts);
    for (const [, script = ''] of jobs.matchAll(/npm run ([\w:-]+)/g)) expect(scripts).toContain(script);
    expect(jobs).toMatch(/docker compose up[\s\S]+\/readyz/);
    // What the README promises.
    expect(jobs).toContain('node: [20, 24]');
  });
});
