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
import type { Database } from '../db/pool/client.ts';
import { type OrganizationScope, scopeTo } from '../db/pool/scope.ts';
import { type Json, parseJson } from '../db/sql/json.ts';
import { validate } from '../http/validation.ts';
import {
  allOrganizations,
  closeOrganization,
  createOrganization,
  rejectClosed,
  reopenOrganization,
} from '../organizations/repository.ts';
import type { Organization } from '../organizations/schema.ts';
import { runCommand, UsageError } from './database.ts';

const USAGE = `Usage: npm run keys -- <command>

  organizations                                    list the organizations
  create-organization --name NAME                  create an organization
  close-organization --organization NAME           refuse its keys now, and purge all of it after 30 days
  reopen-organization --organization NAME          open it again, until then
  list --organization NAME                         list its keys
  issue --organization NAME --name KEYNAME         issue a key; it is shown only now
        [--access read|create]                     read: only GET; create: only POST; else everything
        [--expires 90d]                            in d, h or m; never unless given
        [--resources catalog,quotes]               the parts of /v1 that it reaches; all unless given
        [--per-minute N]                           requests a minute, 0 for no limit
  change --organization NAME --id ID               change settings of a key; the key itself stays
        [--name KEYNAME] [--access write|read|create] [--expires 90d|never]
        [--resources LIST|all] [--per-minute N|default]
  rotate --organization NAME --id ID               issue a key in the place of another,
        [--overlap 24h] [--expires 90d|never]      which stays active for the overlap; the new key
                                                   lives as long as the old one was given
  revoke --organization NAME --id ID               revoke a key now

An organization may be named by its id as well.`;

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

/** `90d`, `24h`, `30m`, `0s` in seconds. */
function seconds(option: string, text: string): number {
  const [, amount, unit] = /^(\d{1,6})([dhms])$/.exec(text) ?? [];
  if (amount === undefined)
    throw new UsageError(`--${option} must be a number with d, h, m or s, such as 90d.`);
  return Number(amount) * SECONDS[unit as keyof typeof SECONDS];
}

function required(options: Options, name: keyof Options): string {
  const value = options[name];
  if (value === undefined || value === '') throw new UsageError(`--${name} is missing.\n\n${USAGE}`);
  return value;
}

/** The organization that the person names, open or closed. Where several have that name, the person must give the id. */
async function foundOrganization(db: Database, options: Options): Promise<Organization> {
  const wanted = required(options, 'organization');
  const found = (await allOrganizations(db)).filter(({ id, name }) => id === wanted || name === wanted);
  const [organization] = found;
  if (!organization)
    throw new UsageError(
      `There is no organization ${JSON.stringify(wanted)}; see \`npm run keys -- organizations\`.`,
    );
  if (found.length > 1) throw new UsageError(`${found.length} organizations have that name; use the id.`);
  return organization;
}

const anyScopeOf = async (db: Database, options: Options): Promise<OrganizationScope> =>
  scopeTo(db, (await foundOrganization(db, options)).id);

/** For keys that are issued, changed or ended. */
async function openScopeOf(db: Database, options: Options): Promise<OrganizationScope> {
  const { id, closedAt } = await foundOrganization(db, options);
  rejectClosed({ isClosed: closedAt !== null });
  return scopeTo(db, id);
}

function printNewKey(issued: Json<ApiKey & { key: string }>): void {
  const { key, id, expiresAt } = parseJson(issued);
  console.log(`Key (shown only now): ${key}\nId: ${id}\nExpires: ${expiresAt ?? 'never'}`);
}

function lineOf({
  id,
  start,
  last4,
  name,
  access,
  resources,
  revokedAt,
  replacedBy,
  expiresAt,
  lastUsedAt,
}: ApiKey): string {
  const end = `expires ${expiresAt ?? 'never'}`;
  const state = revokedAt ? `revoked ${revokedAt}` : replacedBy ? `replaced by ${replacedBy}, ${end}` : end;
  const reach = resources?.join() ?? 'all';
  return `${id}  ${start}…${last4}  ${name}  ${access}  ${reach}  ${state}  last used ${lastUsedAt ?? 'never'}`;
}

/** The option that gives each field of a new key. */
const OPTION_OF: Record<string, keyof Options> = {
  name: 'name',
  access: 'access',
  expiresAt: 'expires',
  resources: 'resources',
  requestsPerMinute: 'per-minute',
};

const expiryIn = (expires: string): string | null =>
  expires === 'never' ? null : new Date(Date.now() + seconds('expires', expires) * 1_000).toISOString();

/** The settings that the options name. Text that is no number goes to validation, which rejects it in the words of the API. */
function settingsOf({ name, access, expires, resources, 'per-minute': perMinute }: Options) {
  return {
    ...(name !== undefined && { name }),
    ...(access !== undefined && { access }),
    ...(expires !== undefined && { expiresAt: expiryIn(expires) }),
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
  const errors = parsed.error.issues.map(({ path, message }) => `--${OPTION_OF[String(path[0])]} ${message}`);
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
    const { closedAt, purgeAt } = parseJson(await closeOrganization(await anyScopeOf(db, options)));
    console.log(`Closed at ${closedAt}, purged from ${purgeAt}`);
  },
  'reopen-organization': async (db, options) => {
    const { name } = parseJson(await reopenOrganization(await anyScopeOf(db, options)));
    console.log(`${name} is open`);
  },
  list: async (db, options) => {
    const scope = await anyScopeOf(db, options);
    for (let offset = 0; ; offset += MAX_LIMIT) {
      const { data } = parseJson(await listApiKeys(scope, { limit: MAX_LIMIT, offset }));
      for (const key of data) console.log(lineOf(key));
      if (data.length < MAX_LIMIT) return;
    }
  },
  issue: async (db, options) => {
    required(options, 'name');
    const input = validated(ApiKeyCreate, settingsOf(options));
    printNewKey(await issueApiKey(await openScopeOf(db, options), input));
  },
  change: async (db, options) => {
    const changes = validated(ApiKeyUpdate, settingsOf(options));
    if (Object.keys(changes).length === 0) throw new UsageError(`Name a setting to change.\n\n${USAGE}`);
    const scope = await openScopeOf(db, options);
    console.log(lineOf(parseJson(await updateApiKey(scope, required(options, 'id'), changes))));
  },
  rotate: async (db, options) => {
    const overlapSeconds = seconds('overlap', options.overlap ?? '24h');
    const { expiresAt } = settingsOf(options);
    const id = required(options, 'id');
    printNewKey(await rotateApiKey(await openScopeOf(db, options), id, { overlapSeconds, expiresAt }));
  },
  revoke: async (db, options) => {
    const revoked = await revokeApiKey(await openScopeOf(db, options), required(options, 'id'));
    console.log(`Revoked at ${parseJson(revoked).revokedAt}`);
  },
};

function parse() {
  try {
    const { positionals, values } = parseArgs({ allowPositionals: true, options: OPTIONS });
    const run = COMMANDS[positionals[0] ?? ''];
    if (run) return { run, options: values };
  } catch (error) {
    throw new UsageError(`${(error as Error).message}\n\n${USAGE}`);
  }
  throw new UsageError(USAGE);
}

await runCommand(parse, ({ run, options }, db) => run(db, options));
