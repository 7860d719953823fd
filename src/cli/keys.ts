import { parseArgs } from 'node:util';
import type { z } from 'zod';
import { issueApiKey, listApiKeys, revokeApiKey, rotateApiKey } from '../api-keys/repository.ts';
import { type ApiKey, ApiKeyCreate, ApiKeyRotate } from '../api-keys/schema.ts';
import { OperatorError } from '../config.ts';
import { type Database, databaseNow, type Json, parseJson, scopeTo } from '../db/index.ts';
import { validate } from '../http/validation.ts';
import { checkOrganization, createOrganization, listOrganizations } from '../organizations/repository.ts';
import { OrganizationCreate } from '../organizations/schema.ts';
import { runCommand } from './database.ts';

const USAGE = `Usage: npm run keys -- <command>

  organizations                                    list the organizations
  create-organization --name NAME                  create an organization
  list --organization NAME                         list its keys
  issue --organization NAME --name KEYNAME         issue a key; it is shown only once
        [--access read|create]                     read: only GET; create: only POST; default: everything
        [--expires 90d]                            in d, h, m or s; default: never
        [--resources catalog,quotes]               the parts of /v1 that it can access; default: all
        [--per-minute N]                           requests per minute; 0: no limit
  rotate --organization NAME --id ID               issue a new key with the same settings and lifetime;
        [--overlap 24h] [--expires 90d]            the old key stays active for the overlap
  revoke --organization NAME --id ID               revoke a key

NAME can also be the id of the organization. The dashboard API changes keys, and closes organizations.`;

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
    throw new OperatorError(`--${option} must be a number followed by d, h, m or s, such as 90d.`);
  return Number(amount) * SECONDS[unit as keyof typeof SECONDS];
}

function required(options: Options, name: keyof Options): string {
  const value = options[name];
  if (value === undefined || value === '') throw new OperatorError(`--${name} is required.\n\n${USAGE}`);
  return value;
}

/** The options of fields that have another name. */
const OPTION_OF: Record<string, string> = { requestsPerMinute: 'per-minute', overlapSeconds: 'overlap' };

/** The input, within the bounds that the dashboard API has for it. */
function inBounds<Schema extends z.ZodType>(schema: Schema, input: object): z.output<Schema> {
  const { data, error } = validate(schema, input);
  if (!error) return data;
  const errors = error.issues.map(
    ({ path: [field], message }) => `--${OPTION_OF[String(field)] ?? String(field)} ${message}`,
  );
  throw new OperatorError(`${errors.join('; ')}.`);
}

const ALL = { limit: 2 ** 31 - 1, offset: 0 };

const organizationsIn = async (db: Database) => parseJson(await listOrganizations(db, ALL)).data;

/** @param needsOpen whether a closed organization is an error */
async function organizationIn(db: Database, options: Options, needsOpen = true) {
  const wanted = required(options, 'organization');
  const found = (await organizationsIn(db)).filter(({ id, name }) => id === wanted || name === wanted);
  const [organization] = found;
  if (!organization)
    throw new OperatorError(
      `The organization ${JSON.stringify(wanted)} does not exist. \`npm run keys -- organizations\` lists them.`,
    );
  if (found.length > 1) throw new OperatorError(`${found.length} organizations have this name. Use the id.`);
  const scope = scopeTo(db, organization.id);
  await checkOrganization(scope, needsOpen);
  return scope;
}

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

async function expiryIn(db: Database, { expires }: Options): Promise<string | undefined> {
  if (expires === undefined) return undefined;
  const after = seconds('expires', expires) * 1_000;
  if (after === 0) throw new OperatorError('--expires must be in the future.');
  return new Date((await databaseNow(db)) + after).toISOString();
}

const COMMANDS: Record<string, (db: Database, options: Options) => Promise<void>> = {
  organizations: async (db) => {
    for (const { id, name, purgeAt } of await organizationsIn(db))
      console.log(`${id}  ${name}${purgeAt === null ? '' : `  closed, purged from ${purgeAt}`}`);
  },
  'create-organization': async (db, options) => {
    const input = inBounds(OrganizationCreate, { name: required(options, 'name') });
    const { id, name } = await createOrganization(db, input.name);
    console.log(`${id}  ${name}`);
  },
  list: async (db, options) => {
    const scope = await organizationIn(db, options, false);
    for (const key of parseJson(await listApiKeys(scope, ALL)).data) console.log(lineOf(key));
  },
  issue: async (db, options) => {
    const { access, resources, 'per-minute': perMinute } = options;
    const input = inBounds(ApiKeyCreate, {
      name: required(options, 'name'),
      access,
      expiresAt: await expiryIn(db, options),
      resources: resources?.split(','),
      requestsPerMinute: perMinute && Number(perMinute),
    });
    printNewKey(await issueApiKey(await organizationIn(db, options), input));
  },
  rotate: async (db, options) => {
    const input = inBounds(ApiKeyRotate, {
      overlapSeconds: options.overlap && seconds('overlap', options.overlap),
      expiresAt: await expiryIn(db, options),
    });
    const id = required(options, 'id');
    printNewKey(await rotateApiKey(await organizationIn(db, options), id, input));
  },
  revoke: async (db, options) => {
    const revoked = await revokeApiKey(await organizationIn(db, options), required(options, 'id'));
    console.log(`Revoked at ${parseJson(revoked).revokedAt}`);
  },
};

function parse() {
  const { positionals, values } = parseArgs({ allowPositionals: true, options: OPTIONS });
  const run = COMMANDS[positionals[0] ?? ''];
  if (!run) throw new OperatorError(USAGE);
  return { run, options: values };
}

await runCommand(parse, ({ run, options }, db) => run(db, options));
