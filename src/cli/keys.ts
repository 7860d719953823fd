import { parseArgs } from 'node:util';
import type { z } from 'zod';
import {
  issueApiKey,
  listApiKeys,
  revokeApiKey,
  rotateApiKey,
  updateApiKey,
} from '../api-keys/repository.ts';
import { type ApiKey, ApiKeyCreate, ApiKeyUpdate } from '../api-keys/schema.ts';
import { MAX_LIMIT } from '../contract/fields.ts';
import { type Database, databaseNow, type Json, type OrganizationScope, parseJson } from '../db/index.ts';
import { validate } from '../http/validation.ts';
import {
  allOrganizations,
  closeOrganization,
  createOrganization,
  reopenOrganization,
} from '../organizations/repository.ts';
import { organizationOf, runCommand, UsageError } from './database.ts';

const USAGE = `Usage: npm run keys -- <command>

  organizations                                    list the organizations
  create-organization --name NAME                  create an organization
  close-organization --organization NAME           reject its keys from now on, and purge it after 30 days
  reopen-organization --organization NAME          reopen it, within these 30 days
  list --organization NAME                         list its keys
  issue --organization NAME --name KEYNAME         issue a key; it is shown only once
        [--access read|create]                     read: only GET; create: only POST; default: everything
        [--expires 90d]                            in d, h or m; default: never
        [--resources catalog,quotes]               the parts of /v1 that it can access; default: all
        [--per-minute N]                           requests per minute; 0: no limit
  change --organization NAME --id ID               change settings of a key
        [--name KEYNAME] [--access write|read|create] [--expires 90d|never]
        [--resources LIST|all] [--per-minute N|default]
  rotate --organization NAME --id ID               issue a new key with the same settings and lifetime;
        [--overlap 24h] [--expires 90d|never]      the old key stays active for the overlap
  revoke --organization NAME --id ID               revoke a key

NAME can also be the id of the organization.`;

const TEXT = { type: 'string' } as const;
const OPTIONS = {
  organization: TEXT,
  name: TEXT,
  access: TEXT,
  id: TEXT,
  expires: TEXT,
  overlap: TEXT,
  resources: TEXT,
  'per-minute': TEXT,
};
type Options = Partial<Record<keyof typeof OPTIONS, string>>;

const SECONDS = { d: 86_400, h: 3_600, m: 60, s: 1 } as const;

function seconds(option: string, text: string): number {
  const [, amount, unit] = /^(\d{1,6})([dhms])$/.exec(text) ?? [];
  if (amount === undefined)
    throw new UsageError(`--${option} must be a number followed by d, h, m or s, such as 90d.`);
  return Number(amount) * SECONDS[unit as keyof typeof SECONDS];
}

function required(options: Options, name: keyof Options): string {
  const value = options[name];
  if (value === undefined || value === '') throw new UsageError(`--${name} is required.\n\n${USAGE}`);
  return value;
}

const organizationIn = (db: Database, options: Options, needsOpen: boolean): Promise<OrganizationScope> =>
  organizationOf(db, required(options, 'organization'), needsOpen);

function printNewKey(issued: Json<ApiKey & { key: string }>): void {
  const { key, id, expiresAt } = parseJson(issued);
  console.log(`Key (shown only once): ${key}\nId: ${id}\nExpires: ${expiresAt ?? 'never'}`);
}

function lineOf(key: ApiKey): string {
  const { id, name, access, revokedAt, replacedBy } = key;
  const end = `expires ${key.expiresAt ?? 'never'}`;
  const state = revokedAt ? `revoked ${revokedAt}` : replacedBy ? `replaced by ${replacedBy}, ${end}` : end;
  const reach = key.resources?.join() ?? 'all';
  return `${id}  ${key.start}…${key.last4}  ${name}  ${access}  ${reach}  ${state}  last used ${key.lastUsedAt ?? 'never'}`;
}

/** Of fields that have another name. */
const OPTION_OF: Record<string, string> = { expiresAt: 'expires', requestsPerMinute: 'per-minute' };

async function expiryIn(db: Database, expires: string): Promise<string | null> {
  if (expires === 'never') return null;
  const after = seconds('expires', expires) * 1_000;
  return new Date((await databaseNow(db)) + after).toISOString();
}

/** Invalid values are left to the validation, which has the error messages. */
async function settingsOf(
  db: Database,
  { name, access, expires, resources, 'per-minute': perMinute }: Options,
) {
  return {
    ...(name !== undefined && { name }),
    ...(access !== undefined && { access }),
    ...(expires !== undefined && { expiresAt: await expiryIn(db, expires) }),
    ...(resources !== undefined && { resources: resources === 'all' ? null : resources.split(',') }),
    ...(perMinute !== undefined && {
      requestsPerMinute:
        perMinute === 'default' ? null : /^-?\d+$/.test(perMinute) ? Number(perMinute) : perMinute,
    }),
  };
}

function validated<Schema extends z.ZodType>(schema: Schema, input: object): z.output<Schema> {
  const parsed = validate(schema, input);
  if (parsed.success) return parsed.data;
  const errors = parsed.error.issues.map(({ path: [field], message }) => {
    const name = String(field);
    return `--${OPTION_OF[name] ?? name} ${message}`;
  });
  throw new UsageError(`${errors.join('; ')}.`);
}

const COMMANDS: Record<string, (db: Database, options: Options) => Promise<void>> = {
  organizations: async (db) => {
    for (const { id, name, purgeAt } of await allOrganizations(db))
      console.log(`${id}  ${name}${purgeAt === null ? '' : `  closed, purged from ${purgeAt}`}`);
  },
  'create-organization': async (db, options) => {
    const { id, name } = await createOrganization(db, required(options, 'name'));
    console.log(`${id}  ${name}`);
  },
  'close-organization': async (db, options) => {
    const { closedAt, purgeAt } = parseJson(
      await closeOrganization(await organizationIn(db, options, false)),
    );
    console.log(`Closed at ${closedAt}, purged from ${purgeAt}`);
  },
  'reopen-organization': async (db, options) => {
    const { name } = parseJson(await reopenOrganization(await organizationIn(db, options, false)));
    console.log(`${name} is open`);
  },
  list: async (db, options) => {
    const scope = await organizationIn(db, options, false);
    for (let offset = 0; ; offset += MAX_LIMIT) {
      const { data } = parseJson(await listApiKeys(scope, { limit: MAX_LIMIT, offset }));
      for (const key of data) console.log(lineOf(key));
      if (data.length < MAX_LIMIT) return;
    }
  },
  issue: async (db, options) => {
    required(options, 'name');
    const input = validated(ApiKeyCreate, await settingsOf(db, options));
    printNewKey(await issueApiKey(await organizationIn(db, options, true), input));
  },
  change: async (db, options) => {
    const changes = validated(ApiKeyUpdate, await settingsOf(db, options));
    if (Object.keys(changes).length === 0) throw new UsageError(`Name a setting to change.\n\n${USAGE}`);
    const scope = await organizationIn(db, options, true);
    console.log(lineOf(parseJson(await updateApiKey(scope, required(options, 'id'), changes))));
  },
  rotate: async (db, options) => {
    const overlapSeconds = seconds('overlap', options.overlap ?? '24h');
    const { expiresAt } = await settingsOf(db, options);
    const id = required(options, 'id');
    const scope = await organizationIn(db, options, true);
    printNewKey(await rotateApiKey(scope, id, { overlapSeconds, expiresAt }));
  },
  revoke: async (db, options) => {
    const revoked = await revokeApiKey(await organizationIn(db, options, true), required(options, 'id'));
    console.log(`Revoked at ${parseJson(revoked).revokedAt}`);
  },
};

function parse() {
  const { positionals, values } = parseArgs({ allowPositionals: true, options: OPTIONS });
  const run = COMMANDS[positionals[0] ?? ''];
  if (!run) throw new UsageError(USAGE);
  return { run, options: values };
}

await runCommand(parse, ({ run, options }, db) => run(db, options));
