import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { Environment, readConfig } from '../src/config.ts';
import { startProcess } from './support/process.ts';

/** What `server.ts` makes of the variables: nothing here is opened. */

/** Every variable, at another value than its default. */
const VARIABLES = {
  HOST: '127.0.0.2',
  PORT: '21001',
  PUBLIC_URL: 'https://crm.example.com/',
  DATABASE_URL: 'postgres://service@db.example:1/crm',
  DATABASE_DIRECT_URL: 'postgres://service@direct.example:2/crm',
  DATABASE_POOL_SIZE: '17',
  DATABASE_TIMEOUT_MS: '4600',
  DATA_DIR: '/nowhere/data',
  RATE_LIMIT_PER_MINUTE: '6001',
  REDIS_URL: 'redis://redis.example:3',
  FILE_STORAGE: 's3://bucket/prefix',
  AWS_ENDPOINT_URL_S3: 'https://s3.example.com',
  SIGNED_URL_TTL_SECONDS: '301',
  SHUTDOWN_DRAIN_MS: '2001',
  MCP: 'write',
  LOG_LEVEL: 'error',
  TRUST_PROXY: '10.0.0.0/8',
  DASHBOARD_HOST: '127.0.0.3',
  DASHBOARD_PORT: '21002',
  DASHBOARD_TOKEN: 'a token of words, in all 32 signs.',
};

/** What server.ts imports, but for errors and what reads the configuration: functions that print their arguments and return a part of the service. */
const imports = readFileSync('src/server.ts', 'utf8').matchAll(/import \{([^}]+)\} from '(\.[^']+)'/g);
const STUBS = Object.fromEntries(
  [...imports]
    .filter(([, , path = '']) => !/config|errors|data-dir|secret/.test(path))
    .map(([, names = '', path]) => [
      path,
      names
        .split(',')
        .map((name) => name.trim())
        .filter((name) => /^[a-z]\w+$/.test(name)),
    ]),
);
STUBS['node:timers/promises'] = ['setTimeout'];

const SCRIPT = `
  import { registerHooks } from 'node:module';
  const stubs = ${JSON.stringify(STUBS)};
  const print = (name, args) => console.log(JSON.stringify({ [name]: args }));
  const returned = {
    checkDatabase: Promise.resolve(7),
    listen: Promise.resolve('an address'),
    watchClock: (difference) => print('compared', [difference]),
  };
  globalThis.call = (name, args) => {
    print(name, args);
    if (name === 'buildDashboardApp') args[0].health.ready();
    const end = async () => print('ended', [name]);
    const part = { close: end, stop: end, limiter: 'the limiter', storage: 'the storage', links: 'the links', clockCompared: 'the gauge' };
    return returned[name] ?? { ...part, toJSON: () => name };
  };
  registerHooks({
    resolve: (specifier, context, next) =>
      specifier in stubs && context.parentURL.endsWith('/src/server.ts')
        ? { url: 'stub:' + specifier, shortCircuit: true }
        : next(specifier, context),
    load: (url, context, next) => {
      if (!url.startsWith('stub:')) return next(url, context);
      const functions = stubs[url.slice(5)].map((name) => 'export const ' + name + ' = (...args) => call("' + name + '", args);');
      return { format: 'module', source: functions.join('\\n'), shortCircuit: true };
    },
  });
  // Nothing else keeps the process running.
  setInterval(() => undefined, 1_000);
  await import(process.cwd() + '/src/server.ts');`;

/** The arguments of each call, and of calls of one name in their order. */
async function callsWith(variables: Record<string, string>) {
  const args = ['--import', './src/runtime.js', '--input-type=module', '--eval', SCRIPT];
  const { child, until, output, ended } = startProcess(variables, args);
  await until('Try it:');
  child.kill('SIGTERM');
  expect(await ended).toBe(0);
  const printed = output()
    .split('\n')
    .flatMap((line) => (line.startsWith('{') ? JSON.parse(line) : []));
  const all = (name: string) => printed.flatMap((call) => (name in call ? [call[name]] : []));
  return { calls: Object.assign({}, ...printed), all };
}

test('each variable, and each part of the service, reaches the parts that it is for; what was opened is closed, the latest first', async () => {
  const { calls, all } = await callsWith(VARIABLES);
  const { DATABASE_URL, DATABASE_DIRECT_URL, DASHBOARD_TOKEN } = VARIABLES;
  expect(all('listen')).toEqual([
    ['buildApp', { host: '127.0.0.2', port: 21_001 }],
    ['buildDashboardApp', { host: '127.0.0.3', port: 21_002 }],
  ]);
  expect(all('closeServer').map(([app]) => app)).toEqual(['buildApp', 'buildDashboardApp']);
  expect(all('ended').flat()).toEqual(['redisLimiter', 'startJobs', 'openFiles', 'openDatabase']);
  const [db, logger, metrics] = ['openDatabase', 'createLogger', 'createMetrics'];
  expect(calls).toMatchObject({
    createLogger: ['error'],
    migrateDatabase: [DATABASE_DIRECT_URL, 'DATABASE_DIRECT_URL'],
    openDatabase: [{ url: DATABASE_URL, poolSize: 17, statementTimeout: 4_600 }],
    openFiles: [readConfig(VARIABLES), 'https://crm.example.com'],
    openKeyCache: [{ db, logger }],
    createMetrics: [db, '/nowhere/data'],
    checkDatabase: [DATABASE_URL],
    watchClock: [logger, 'the gauge'],
    compared: [7],
    startJobs: [{ db, logger, metrics, url: DATABASE_DIRECT_URL, storage: 'the storage' }],
    redisLimiter: ['redis://redis.example:3', null],
    buildApp: [
      {
        ...{ db, logger, metrics, keys: 'openKeyCache' },
        rateLimit: { limiter: 'the limiter', requestsPerMinute: 6_001 },
        links: 'the links',
        trustProxy: '10.0.0.0/8',
        drainMs: 2_000,
        databaseMs: 9_200,
        mcp: 'write',
        publicUrl: 'https://crm.example.com',
      },
    ],
    buildDashboardApp: [
      {
        ...{ db, logger, health: { metrics, draining: {} } },
        token: DASHBOARD_TOKEN,
        storage: 'the storage',
        links: 'the links',
        trustProxy: '10.0.0.0/8',
        drainMs: 2_000,
        databaseMs: 9_200,
      },
    ],
    setTimeout: [2_001],
  });
  expect(calls).not.toHaveProperty('startEmbeddedPostgres');
  expect(calls).not.toHaveProperty('memoryLimiter');
  expect(Object.keys(VARIABLES), 'Complete VARIABLES of this file').toEqual(Object.keys(Environment.shape));
});

test('without the other variables the service has one database URL, its own port in links, no token, and no time to drain', async () => {
  const { DATABASE_URL, PORT, FILE_STORAGE } = VARIABLES;
  const { calls } = await callsWith({ DATABASE_URL, PORT, FILE_STORAGE, SHUTDOWN_DRAIN_MS: '0' });
  expect(calls).toMatchObject({
    migrateDatabase: [DATABASE_URL, null],
    startJobs: [{ url: DATABASE_URL }],
    openFiles: [{}, `http://localhost:${PORT}`],
    memoryLimiter: [],
    setTimeout: [0],
  });
  expect(calls.buildDashboardApp[0]).not.toHaveProperty('token');
});

/** A default that opens something has a reason. */
const DEFAULTS: [name: string, value: unknown, reason: string][] = [
  ['HOST', '0.0.0.0', 'a container publishes what it should; every request needs a key'],
  ['PORT', 3_000, 'the port of the contract'],
  ['DATABASE_POOL_SIZE', 16, 'a tenth of the connections of PostgreSQL'],
  ['DATABASE_TIMEOUT_MS', 4_500, 'bounded'],
  ['DATA_DIR', '.data', 'beside the program'],
  ['RATE_LIMIT_PER_MINUTE', 6_000, 'a limit; 0 would be none'],
  ['FILE_STORAGE', 'disk', 'nothing leaves the machine'],
  ['SIGNED_URL_TTL_SECONDS', 300, 'a link opens a file for whoever has it'],
  ['MCP', 'read', 'an agent writes only where the operator says so'],
  ['LOG_LEVEL', 'info', 'no line has a part of a request'],
  ['TRUST_PROXY', false, 'anyone can send X-Forwarded-For'],
  ['DASHBOARD_HOST', '127.0.0.1', 'one token opens all organizations; /metrics and /readyz need none'],
  ['DASHBOARD_PORT', 3_001, 'beside the API'],
];

test('each default is the one that its reason allows; without DASHBOARD_TOKEN there is none; TRUST_PROXY=false trusts nobody', () => {
  const defaults = Object.fromEntries(DEFAULTS.map(([name, value]) => [name, value]));
  expect(Environment.parse({}), 'Complete DEFAULTS of this file').toEqual(defaults);
  for (const trusts of [true, false])
    expect(Environment.parse({ TRUST_PROXY: String(trusts) }).TRUST_PROXY).toBe(trusts);
});

/** A line that would open more than the defaults. */
const OPENINGS: [file: string, opening: RegExp][] = [
  // The network reaches nginx alone, and of nginx the API.
  ['docker-compose.yml', /^ +- '(?!127\.0\.0\.1:|\$\{HTTPS?_PORT)\S*:\d+'$/m],
  ['deploy/pg_hba.conf', /^host.* (?!scram-sha-256)\S+$/m],
  ['deploy/travel-agency-crm-api.service', /(HOST|PROXY)=(?!127\.0\.0\.1 )/],
  // A URL can contain names, numbers and signatures.
  ['deploy/nginx.conf', /log_format .*\$(request|\w*uri|args|http_\w+) |error_log \S+ (?!crit)/],
];
test.each(OPENINGS)('%s has nothing like %s', (file, opening) => {
  expect(readFileSync(file, 'utf8')).not.toMatch(opening);
});
