import { z } from 'zod';
import { OperatorError } from './contract/errors.ts';

/** `npm run docs` generates the table in docs/operating.md from these descriptions. */

function integerFrom(minimum: number, maximum: number) {
  const rule = `must be an integer from ${minimum} to ${maximum}`;
  const isAllowed = (text: string) => /^\d+$/.test(text) && +text >= minimum && +text <= maximum;
  return z.string().refine(isAllowed, rule).transform(Number);
}

/** Of a password that is not encoded, `@`, `/`, `#`, `?` or `%` would become a part of another host. */
const POSTGRES_URL = /^postgres(?:ql)?:\/\/(?:(?:[^\s@/?#%]|%[\da-f]{2})*@)?[^\s@/?#,]*(?:[/?][^\s@#]*)?$/i;

const postgresUrl = () =>
  z
    .string()
    .regex(
      POSTGRES_URL,
      'must be a postgres:// URL of one host. In its user and password, percent-encode @ as %40, / as %2F, # as %23, ? as %3F and % as %25',
    );

const S3_URL = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/+(.*?))?\/*$/;

const fileStorage = () =>
  z
    .string()
    .refine((value) => value === 'disk' || S3_URL.test(value), 'must be disk or s3://bucket/prefix')
    .transform((value): 'disk' | { bucket: string; prefix: string } => {
      const [, bucket, path] = S3_URL.exec(value) ?? [];
      return bucket === undefined ? 'disk' : { bucket, prefix: path ? `${path}/` : '' };
    });

const httpUrl = () =>
  z
    .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
    .regex(/^[^?#@]*$/, 'must be an http or https URL without user, query or fragment');

const proxy = z.union([
  z.ipv4(),
  z.ipv6(),
  z.cidrv4(),
  z.cidrv6(),
  z.literal(['loopback', 'linklocal', 'uniquelocal']),
]);
const isProxy = (text: string): boolean => proxy.safeParse(text.trim()).success;

export const Environment = z.object({
  HOST: z.string().default('0.0.0.0').describe('IP address or host name that the API listens on.'),
  PORT: integerFrom(0, 65_535).default(3000).describe('Port of the API; 0: a free one.'),
  PUBLIC_URL: httpUrl()
    .transform((url) => url.replace(/\/+$/, ''))
    .optional()
    .describe('URL at which clients reach the API. Default: `http://localhost:PORT`.'),
  DATABASE_URL: postgresUrl()
    .optional()
    .describe('PostgreSQL 15 or later. Default: an embedded one in `DATA_DIR`, with demo data.'),
  DATABASE_DIRECT_URL: postgresUrl()
    .optional()
    .describe('The same database without a pooler, for migrations and jobs. Default: `DATABASE_URL`.'),
  DATABASE_POOL_SIZE: integerFrom(1, 1_000)
    .default(16)
    .describe(
      'Connections for requests, for each of which six more may wait; one organization gets at most half of both, and its reads a quarter, then 503. Four more serve keys and jobs.',
    ),
  DATABASE_TIMEOUT_MS: integerFrom(100, 600_000)
    .default(4_500)
    .describe('Timeout of a statement, and of the wait for a connection; then 503.'),
  DATA_DIR: z
    .string()
    .min(1)
    .default('.data')
    .describe('Folder of the embedded database, attachments and generated secrets.'),
  RATE_LIMIT_PER_MINUTE: integerFrom(0, 2_147_483_647)
    .default(6_000)
    .describe('Default limit of a key, in requests per minute; 0: no limit.'),
  REDIS_URL: z
    .url({ protocol: /^rediss?$/, error: 'must be a redis:// or rediss:// URL, percent-encoded' })
    // ioredis selects any other database as NaN, and the error of Redis ends the process. A parameter sets any option of ioredis.
    .regex(
      /^\w+:\/\/(?:[^/?#%]|%[\da-f]{2})*\/?\d*(?:\?family=[046])?$/i,
      'must be a redis:// or rediss:// URL, percent-encoded, with a number as its database, and no parameter but family',
    )
    .optional()
    .describe('Counts the requests of all instances. Default: each counts in memory.'),
  FILE_STORAGE: fileStorage()
    .default('disk')
    .describe(
      'Storage of attachments: `disk`, a folder in `DATA_DIR`, or [`s3://bucket/prefix`](#attachments-in-s3).',
    ),
  AWS_ENDPOINT_URL_S3: httpUrl().optional().describe('URL of an S3-compatible store. Default: AWS.'),
  SIGNED_URL_TTL_SECONDS: integerFrom(30, 3_600)
    .default(300)
    .describe('Lifetime of a signed download link, in seconds.'),
  SHUTDOWN_DRAIN_MS: integerFrom(0, 600_000)
    .optional()
    .describe('Time to serve requests after SIGTERM, while `/readyz` is 503. Default: `2000`; embedded `0`.'),
  MCP: z
    .enum(['off', 'read', 'write'], 'must be off, read or write')
    .default('read')
    .describe('What agents can do over `/mcp`: `off`, `read` or `write`.'),
  LOG_LEVEL: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], 'must be a pino level or silent')
    .default('info')
    .describe('Minimum level of log lines.'),
  TRUST_PROXY: z
    .string()
    .refine(
      (value) => /^(true|false)$/.test(value) || value.split(',').every(isProxy),
      'must be true, false, or addresses and networks, separated by commas',
    )
    .transform((value) => (/^(true|false)$/.test(value) ? value === 'true' : value))
    .default(false)
    .describe('Trusts `X-Forwarded-…` headers: `true`, `false`, or addresses and networks of proxies.'),
  DASHBOARD_HOST: z
    .string()
    .default('127.0.0.1')
    .describe('IP address or host name that the dashboard API listens on.'),
  DASHBOARD_PORT: integerFrom(0, 65_535)
    .default(3001)
    .describe('Port of the dashboard API; 0 chooses a free one.'),
  DASHBOARD_TOKEN: z
    .string()
    .regex(/^[!-~][ -~]{30,}[!-~]$/, 'must have at least 32 ASCII characters, without spaces around them')
    .optional()
    .describe(
      'Bearer token of the dashboard backend. Default: the dashboard API is closed; with the embedded database, a generated token.',
    ),
});

export type Config = z.infer<typeof Environment>;

/** @throws OperatorError */
export function readConfig(environment: Record<string, string | undefined> = process.env): Config {
  const nonEmpty = Object.entries(environment).filter(([, value]) => value !== undefined && value !== '');
  const result = Environment.safeParse(Object.fromEntries(nonEmpty));
  const errors = result.error?.issues.map(({ path, message }) => `${path.join('.')} ${message}`) ?? [];
  const url = environment.DATABASE_URL || environment.DATABASE_DIRECT_URL || undefined;
  // A start without a database is meant to try the service out.
  if (url === undefined && (environment.NODE_ENV === 'production' || environment.PUBLIC_URL))
    errors.push('DATABASE_URL must be set, because NODE_ENV is production or PUBLIC_URL is set');
  if (result.success && errors.length === 0) return { ...result.data, DATABASE_URL: url };
  throw new OperatorError(`Invalid environment variables: ${errors.join('; ')}.`);
}
