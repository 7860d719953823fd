import type { ApiDescription } from './document.ts';

/** The first segments of the paths of /v1: the tags of the document, and the resources of a key. */
export const PARTS = {
  catalog: 'Travel products and their variants.',
  customers: 'People and anonymous leads, with their contacts.',
  opportunities: 'Sales leads in the pipeline. Read only.',
  conversations: 'Conversations on messaging channels, and their transcripts. Read only.',
  quotes: 'Quotes of opportunities, and their attachments. Read only.',
  team: 'Members of the organization. Read only.',
};

export const PUBLIC_API: ApiDescription = {
  title: 'Travel agency CRM API',
  description: `The catalog, customers, sales and conversations of one travel agency. The [guide](/docs/guide/start) says how to
use it.

Send the API key as \`Authorization: Bearer <key>\` or as \`x-api-key: <key>\`. A key belongs to one organization, and
reads and writes only its data. Lists are live queries; the guide says how to sync. Unknown fields and parameters are
ignored and named in \`X-Ignored-Parameters\`; with \`Prefer: handling=strict\`, they are errors.`,
  tags: Object.entries(PARTS).map(([part, description]) => ({
    name: part.charAt(0).toUpperCase() + part.slice(1),
    description,
  })),
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
