import { distance } from 'fastest-levenshtein';
import { z } from 'zod';

/** The only reader of the environment. The table in docs/operating.md is made from these descriptions. */

const integer = (minimum: number, maximum: number) =>
  z.coerce
    .number(`must be an integer from ${minimum} to ${maximum}`)
    .int(`must be an integer from ${minimum} to ${maximum}`)
    .min(minimum, `must be an integer from ${minimum} to ${maximum}`)
    .max(maximum, `must be an integer from ${minimum} to ${maximum}`);

const secret = () => z.string().min(32, 'must have at least 32 characters');

const S3_URL = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/+(.*?))?\/*$/;

/** `disk`, or the bucket and the prefix of its keys. */
const fileStorage = () =>
  z
    .string()
    .refine((value) => value === 'disk' || S3_URL.test(value), 'must be disk or s3://bucket/prefix')
    .transform((value): 'disk' | { bucket: string; prefix: string } => {
      const [, bucket, path] = S3_URL.exec(value) ?? [];
      return bucket === undefined ? 'disk' : { bucket, prefix: path ? `${path}/` : '' };
    });

const httpUrl = () => z.url({ protocol: /^https?$/, error: 'must be an http or https URL' });

export const Environment = z.object({
  HOST: z.string().default('0.0.0.0').describe('Address that the API listens on.'),
  PORT: integer(0, 65_535)
    .default(3000)
    .describe('Port of the API; 0 takes a free one, and signed links then need `PUBLIC_URL`.'),
  PUBLIC_URL: httpUrl()
    .transform((url) => url.replace(/\/+$/, ''))
    .optional()
    .describe('Where clients reach the API. Default: `http://localhost:PORT`.'),
  SUPPORT_CONTACT: z
    .union([httpUrl(), z.email()], 'must be an email address or an http or https URL')
    .optional()
    .describe('Whom integrators ask: an email address or a URL, for the document and its page.'),
  DATABASE_URL: z
    .string()
    .regex(/^postgres(ql)?:\/\//, 'must be a postgres:// URL')
    .optional()
    .describe('PostgreSQL 15 or later. Default: a PostgreSQL 18 of its own in `DATA_DIR`, with demo data.'),
  DATABASE_DIRECT_URL: z
    .string()
    .regex(/^postgres(ql)?:\/\//, 'must be a postgres:// URL')
    .optional()
    .describe(
      'The same without a transaction pooler, for migrations and the locks of jobs. Default: `DATABASE_URL`.',
    ),
  DATABASE_POOL_SIZE: integer(1, 1_000)
    .default(16)
    .describe(
      'Connections for requests; one organization gets half of them at most. Four more serve keys and jobs.',
    ),
  DATABASE_QUEUE_SIZE: integer(0, 100_000)
    .default(500)
    .describe(
      'Reads and writes that may wait for one, of one organization half of them; the next gets a 503.',
    ),
  DATABASE_TIMEOUT_MS: integer(100, 600_000)
    .default(4_500)
    .describe('Longest time for waiting, connecting and running together; then a 503.'),
  DATA_DIR: z
    .string()
    .min(1)
    .default('.data')
    .describe('Folder of the embedded database, attachments and made secrets.'),
  RATE_LIMIT_PER_MINUTE: integer(0, 2_147_483_647)
    .default(6_000)
    .describe('Requests per minute of a key without a limit of its own; 0: no limit.'),
  REDIS_URL: z
    .string()
    .regex(/^rediss?:\/\//, 'must be a redis:// or rediss:// URL')
    .optional()
    .describe('Redis that counts requests of all instances. Default: each counts in its memory.'),
  FILE_STORAGE: fileStorage()
    .default('disk')
    .describe(
      "Where attachments are: `disk`, a folder in `DATA_DIR`, or `s3://bucket/prefix`, with region and credentials of the usual variables (`AWS_REGION`, `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, …) or the machine's role.",
    ),
  AWS_ENDPOINT_URL_S3: httpUrl()
    .optional()
    .describe('The S3-compatible store, as the service and clients reach it. Default: AWS.'),
  AWS_ENDPOINT_URL: httpUrl().optional().describe('The same, where `AWS_ENDPOINT_URL_S3` is not set.'),
  SIGNED_URL_TTL_SECONDS: integer(30, 3_600).default(300).describe('Lifetime of a signed download link.'),
  FILE_SIGNING_SECRET: secret()
    .optional()
    .describe('Signs download links; the same on every instance. Default: made once, in `DATA_DIR`.'),
  FILE_SIGNING_SECRET_PREVIOUS: secret()
    .optional()
    .describe('The secret before: its links stay good until they expire.'),
  SHUTDOWN_DRAIN_MS: integer(0, 600_000)
    .optional()
    .describe(
      'How long it still answers after SIGTERM, while `/readyz` is 503. Default: `2000`; with the embedded database `0`.',
    ),
  MCP: z
    .enum(['off', 'read', 'write'], 'must be off, read or write')
    .default('read')
    .describe('What agents may do over `/mcp`: nothing, read, or write too.'),
  LOG_LEVEL: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], 'must be a pino level or silent')
    .default('info')
    .describe('Least level of the log lines on standard output.'),
  TRUST_PROXY: z
    .string()
    .transform((value): boolean | string =>
      value === 'true' || value === 'false' ? value === 'true' : value,
    )
    .default(false)
    .describe('Which proxies may say who the client is: `true`, `false`, or their addresses and networks.'),
  DASHBOARD_HOST: z.string().default('127.0.0.1').describe('Address that the dashboard API listens on.'),
  DASHBOARD_PORT: integer(0, 65_535).default(3001).describe('Port of the dashboard API; 0 takes a free one.'),
  DASHBOARD_TOKEN: secret()
    .optional()
    .describe(
      'The bearer token of the dashboard backend. Without it an embedded start makes one and prints it; with `DATABASE_URL` the dashboard API is closed.',
    ),
});

export type Config = z.infer<typeof Environment>;

/** A mistake in the environment, in one line that names the variables. */
export class ConfigError extends Error {}

/** Fewer edits than this make a name look like another one; short names look like too many. */
const MISSPELT_EDITS = 3;
const MIN_LENGTH = 6;

/** Names that look like a variable of ours which is not set, each with that variable. They may also be somebody else's. */
export function misspeltVariables(
  environment: Record<string, string | undefined> = process.env,
): { name: string; suggestion: string }[] {
  const unset = Object.keys(Environment.shape).filter((name) => !environment[name]);
  return Object.keys(environment)
    .filter((name) => !(name in Environment.shape))
    .flatMap((name) => {
      const suggestion = unset.find(
        (known) => known.length >= MIN_LENGTH && distance(known, name) < MISSPELT_EDITS,
      );
      return suggestion === undefined ? [] : [{ name, suggestion }];
    });
}

/** @throws ConfigError */
export function readConfig(environment: Record<string, string | undefined> = process.env): Config {
  const given = Object.entries(environment).filter(([, value]) => value !== undefined && value !== '');
  const result = Environment.safeParse(Object.fromEntries(given));
  if (result.success) return result.data;
  const errors = result.error.issues.map(({ path, message }) => `${path.join('.')} ${message}`);
  throw new ConfigError(`${errors.join('; ')}.`);
}
