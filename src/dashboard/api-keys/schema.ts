import { z } from 'zod';
import { ApiKey } from '../../api-keys/schema.ts';
import { integer, page } from '../../fields.ts';
import { knownParams, optionalBody } from '../params.ts';

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
