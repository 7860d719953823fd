import { z } from 'zod';
import { dateTime, id, integer, moment, page, pageQuery, text } from '../contract/fields.ts';
import { knownParams, optionalBody } from '../dashboard/params.ts';
import { PARTS } from '../openapi/description.ts';

const access = () => z.enum(['write', 'read']);

export const RESOURCES = Object.keys(PARTS) as (keyof typeof PARTS)[];

const resources = () => z.array(z.enum(RESOURCES));
const resourcesSent = () =>
  z
    .array(z.enum(RESOURCES))
    .min(1)
    .refine((list) => new Set(list).size === list.length, 'must name each once');

const requestsPerMinute = () => integer().min(0, 'must be at least 0').nullish();

export const ApiKey = z
  .object({
    id: id(),
    name: z.string(),
    start: z.string().describe('The first characters of the key, to recognise it by.'),
    last4: z.string().describe('The last four characters of the key.'),
    access: access().describe('`read`: every write of /v1 is refused with 403 KEY_READ_ONLY.'),
    resources: resources()
      .nullable()
      .describe('The parts of /v1 that it reaches; null: all. Any other is 403 KEY_RESOURCE_NOT_ALLOWED.'),
    requestsPerMinute: z.int32().nullable().describe('null: the default of the service; 0: unlimited.'),
    createdAt: dateTime(),
    lastUsedAt: dateTime().nullable().describe('To the minute.'),
    expiresAt: dateTime().nullable(),
    revokedAt: dateTime().nullable(),
    replacedBy: z.string().nullable().describe('The key that a rotation issued in its place.'),
  })
  .meta({ id: 'ApiKey' });
export type ApiKey = z.infer<typeof ApiKey>;

export const ApiKeyCreate = z
  .object({
    name: text({ min: 1, max: 255 }),
    access: access().optional().describe('Absent: `write`. A key with `read` can only read.'),
    resources: resourcesSent()
      .nullish()
      .describe('The parts of /v1 that it reaches; null or absent: all. Attachments belong to quotes.'),
    expiresAt: moment().nullish().describe('A moment in the future; null or absent: never.'),
    requestsPerMinute: requestsPerMinute().describe('null: the default; 0: unlimited.'),
  })
  .meta({
    id: 'ApiKeyCreate',
    examples: [{ name: 'Website', access: 'read', resources: ['catalog'], requestsPerMinute: 600 }],
  });
export type ApiKeyCreate = z.infer<typeof ApiKeyCreate>;

export const ApiKeyUpdate = z
  .object({
    name: text({ min: 1, max: 255 }).optional(),
    access: access().optional(),
    resources: resourcesSent().nullish().describe('null: all.'),
    requestsPerMinute: requestsPerMinute().describe('null: the default; 0: unlimited.'),
  })
  .meta({ id: 'ApiKeyUpdate', examples: [{ resources: ['catalog', 'quotes'] }] });
export type ApiKeyUpdate = z.infer<typeof ApiKeyUpdate>;

export const ApiKeyListQuery = z.object(pageQuery());

const DAY_SECONDS = 86_400;

export const IssuedApiKey = ApiKey.extend({
  key: z.string().describe('The key itself. It is shown this once; only its hash is kept.'),
}).meta({ id: 'IssuedApiKey' });

export const ApiKeyList = page(ApiKey).meta({ id: 'ApiKeyList' });

export const ApiKeyParams = knownParams('apiKeyId', 'Id of the key.');

export const ApiKeyRotate = optionalBody(
  z
    .object({
      overlapSeconds: integer()
        .min(0, 'must be at least 0')
        .max(30 * DAY_SECONDS, `must be at most ${30 * DAY_SECONDS}`)
        .default(DAY_SECONDS)
        .describe('How long the old key stays good; 0 ends it now. It never outlives its own expiry.'),
    })
    .meta({ id: 'ApiKeyRotate', examples: [{ overlapSeconds: 3_600 }] }),
);
