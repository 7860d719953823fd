import { z } from 'zod';
import * as f from '../contract/fields.ts';
import { resourceNames } from '../contract/resources.ts';

const access = () => z.enum(['write', 'read', 'create']);
const ACCESS = '`read`: only GET, else 403 KEY_READ_ONLY; `create`: only POST, else 403 KEY_CREATE_ONLY.';

const resources = () => z.array(z.enum(resourceNames));
const RATE = 'The limit of the key; null means the default of the service, 0 means unlimited.';

export const ApiKey = f.object('ApiKey', {
  id: f.recordId(),
  name: z.string(),
  start: z.string().describe('The first characters of the key, to recognize it.'),
  last4: z.string().describe('The last four characters of the key.'),
  access: access().describe(`What the key may do in /v1. \`write\`: everything; ${ACCESS}`),
  resources: f.field(
    resources().nullable(),
    'The resources of /v1 that the key can access; null means all. Any other resource returns 403 KEY_RESOURCE_NOT_ALLOWED.',
  ),
  requestsPerMinute: z.int32().nullable().describe(RATE),
  createdAt: f.createdAt(),
  lastUsedAt: f.nullableDateTime('When the key was last used, to the minute.'),
  expiresAt: f.nullableDateTime('When the key expires; null means never.'),
  revokedAt: f.nullableDateTime('When the key was revoked; null if it was not.'),
  replacedBy: z.string().nullable().describe('Id of the key that a rotation issued in its place.'),
});
export type ApiKey = z.infer<typeof ApiKey>;

export const ApiKeyCreate = z
  .object({
    name: f.text({ min: 1, max: 255 }),
    access: access().optional().describe(`A new key has \`write\` by default. ${ACCESS}`),
    resources: f.field(
      resources().min(1).max(resourceNames.length).nullish(),
      'The resources of /v1 that the key can access; null, the default of a new key, means all. Attachments belong to quotes.',
    ),
    expiresAt: f.field(
      f.timestamp().nullish(),
      'A timestamp in the future; null, the default of a new key, means never. It cannot be changed after a rotation.',
    ),
    requestsPerMinute: f.naturalNumber().nullish().describe(RATE),
  })
  .meta({
    id: 'ApiKeyCreate',
    examples: [{ name: 'Website', access: 'read', resources: ['catalog'], requestsPerMinute: 600 }],
  });
export type ApiKeyCreate = z.infer<typeof ApiKeyCreate>;

export const ApiKeyUpdate = f.patchOf(ApiKeyCreate).meta({
  id: 'ApiKeyUpdate',
  examples: [{ resources: ['catalog', 'quotes'], expiresAt: null }],
});
export type ApiKeyUpdate = z.infer<typeof ApiKeyUpdate>;

export const ApiKeyListQuery = z.object({
  ...f.recordQuery(),
  active: f.flag('`true`: only keys that are neither revoked, expired nor replaced. Otherwise all.'),
});

const DAY_SECONDS = 86_400;

export const IssuedApiKey = ApiKey.extend({
  key: z.string().describe('The key itself. Shown only in this response; the service stores only its hash.'),
}).meta({ id: 'IssuedApiKey' });

export const ApiKeyParams = z.object({ apiKeyId: f.pathId('Id of the API key.') });

const Rotation = z
  .object({
    overlapSeconds: f
      .naturalNumber()
      .max(30 * DAY_SECONDS, `must be at most ${30 * DAY_SECONDS}`)
      .default(DAY_SECONDS)
      .describe('How many seconds the old key stays active; 0 ends it now. Its own expiry still applies.'),
    expiresAt: f.field(
      f.timestamp().nullish(),
      'When the new key expires, a timestamp in the future; null means never. Default: the new key gets the same lifetime as the old one.',
    ),
  })
  .meta({ id: 'ApiKeyRotate', examples: [{ overlapSeconds: 3_600 }] });
export type ApiKeyRotate = z.infer<typeof Rotation>;
export const ApiKeyRotate = f.optionalBody(Rotation);
