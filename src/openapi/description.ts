import { RESOURCES, resourceNames, tagOf } from '../contract/resources.ts';
import type { ApiDescription } from './document.ts';

export const PUBLIC_API: ApiDescription = {
  title: 'Travel agency CRM API',
  description: `The catalog, customers, sales and conversations of one travel agency. The [guide](/docs/guide/start) says how to
use it, and [what changes](/docs/guide/changes).

Send the API key as \`Authorization: Bearer <key>\` or as \`x-api-key: <key>\`. A key belongs to one organization, and
reads and writes only its data. Lists are live queries; the guide says how to sync. Unknown fields and parameters are
ignored and named in \`X-Ignored-Parameters\`; with \`Prefer: handling=strict\`, they are errors.`,
  tags: resourceNames.map((name) => ({ name: tagOf(name), description: RESOURCES[name] })),
  securitySchemes: {
    bearer: { type: 'http', scheme: 'bearer', description: 'The API key as a bearer token.' },
    apiKey: {
      type: 'apiKey',
      in: 'header',
      name: 'x-api-key',
      description: 'The API key in its own header.',
    },
  },
  otherCodes: ['FILE_LINK_INVALID', 'RANGE_NOT_SATISFIABLE', 'ROUTE_NOT_FOUND'],
};
