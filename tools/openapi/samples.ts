import { EXAMPLE_ADDRESS } from '../../src/reference/page.ts';

/** How each operation is called with the client of this project, for the reference page. curl and Python come from Scalar. */

const ID = '01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17';

/** The lines after the client is made, by operation. A body is the example of the document. */
const CALLS: Record<string, (body: string) => string> = {
  listCatalogProducts: () => `for await (const product of crm.products.walk({ status: 'active' })) {
  console.log(product.title, product.fromPrice, product.currency);
}`,
  createCatalogProduct: (body) => `const product = await crm.products.create(${body});
console.log(product.id);`,
  getCatalogProduct: () => `const product = await crm.products.get('${ID}');`,
  updateCatalogProduct: (body) => `const product = await crm.products.update('${ID}', ${body});`,
  archiveCatalogProduct: () => `await crm.products.archive('${ID}');`,
  listCustomers: () => `const { data, pagination } = await crm.customers.list({ query: 'peña', limit: 10 });
console.log(data.length, 'of', pagination.total);`,
  createCustomer: (body) => `const customer = await crm.customers.create(${body});
console.log(customer.id);`,
  getCustomer: () => `const customer = await crm.customers.get('${ID}');`,
  updateCustomer: (body) => `const customer = await crm.customers.update('${ID}', ${body});`,
  archiveCustomer: () => `await crm.customers.archive('${ID}');`,
  listOpportunities: () => `for await (const opportunity of crm.opportunities.walk()) {
  console.log(opportunity.shortRef, opportunity.stage, opportunity.temperature);
}`,
  getOpportunity: () => `const opportunity = await crm.opportunities.get('${ID}');`,
  listConversations: () => `const { data } = await crm.conversations.list({ channel: 'whatsapp' });
console.log(data.map(({ contactName }) => contactName));`,
  getConversationTranscript:
    () => `const { data, total } = await crm.conversations.transcript('${ID}', { limit: 200 });
console.log(data.length, 'of', total);`,
  listQuotes: () => `for await (const quote of crm.quotes.walk({ status: 'published' })) {
  console.log(quote.title, quote.openCount);
}`,
  listQuoteAttachments: () => `const { data } = await crm.quotes.attachments('${ID}');
for (const { fileName, url } of data) console.log(fileName, (await fetch(url)).status);`,
  listTeamMembers: () =>
    `for await (const member of crm.team.walk()) console.log(member.name, member.roles);`,
};

/** A JSON value as a person writes it in JavaScript. */
const literal = (value: unknown): string =>
  JSON.stringify(value, null, 2)
    .replace(/^(\s*)"(\w+)":/gm, '$1$2:')
    .replace(/"((?:[^"\\']|\\[^"])*)"/g, "'$1'");

/**
 * @param body the example of the request's body, where it has one
 * @returns undefined for an operation that the client does not have
 */
export function clientSample(operationId: string, body: unknown): string | undefined {
  const call = CALLS[operationId];
  if (call === undefined) return undefined;
  return `// The package comes from the repository of the service: see Tools in the guide.
import { createClient } from 'travel-agency-crm-client';

const crm = createClient({ apiKey: process.env.KEY, baseUrl: '${EXAMPLE_ADDRESS}' });

${call(body === undefined ? '' : literal(body))}
`;
}
