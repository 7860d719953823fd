import type { ApiDescription } from '../openapi/document.ts';

export const DASHBOARD_API: ApiDescription = {
  title: 'Travel agency CRM dashboard API',
  description: `The API of the agency's dashboard backend and of its messaging agent: organizations, their API keys, and the
records that /v1 only reads. It listens on its own port. Every request has \`Authorization: Bearer <DASHBOARD_TOKEN>\`.

\`PUT\` creates (201) or replaces (200) the record with the id in the path, a UUID that you generate; sending it
twice changes nothing. Errors, pagination, request ids and strictness are as in /v1.`,
  tags: [
    { name: 'Organizations', description: 'Travel agencies. Every other record belongs to one of them.' },
    { name: 'API keys', description: 'Keys of an organization for /v1.' },
    {
      name: 'Catalog',
      description: 'Archived products, and the images, destinations and variants of active products.',
    },
    {
      name: 'Customers',
      description: 'Customers, archived or not, with export and erasure.',
    },
    { name: 'Pipeline stages', description: 'Columns of the sales pipeline.' },
    { name: 'Team members', description: 'Members of the organization.' },
    { name: 'Opportunities', description: 'Sales leads in the pipeline.' },
    { name: 'Conversations', description: 'Threads on messaging channels, and their messages.' },
    { name: 'Quotes', description: 'Quotes of opportunities, and their attachments.' },
  ],
  securitySchemes: {
    bearer: { type: 'http', scheme: 'bearer', description: 'The token of DASHBOARD_TOKEN.' },
  },
  otherCodes: ['ROUTE_NOT_FOUND'],
};
