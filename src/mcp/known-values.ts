import { conversationValues } from '../conversations/repository.ts';
import { customerValues } from '../customers/repository.ts';
import type { OrganizationScope } from '../db/pool/scope.ts';
import type { KnownValues } from '../db/repository/known-values.ts';
import { opportunityValues } from '../opportunities/repository.ts';
import type { Tool } from './tools.ts';

/** The filters whose values an agency makes itself, by the tool that takes them. */
const OF_TOOLS: Record<string, KnownValues> = {
  listCustomers: customerValues,
  listOpportunities: opportunityValues,
  listConversations: conversationValues,
};

/** The tool, whose arguments say which values this organization has. */
export async function withKnownValues(tool: Tool, scope: OrganizationScope): Promise<Tool> {
  const { properties } = tool.inputSchema;
  const told = await Promise.all(
    Object.entries(OF_TOOLS[tool.name] ?? {}).map(async ([name, read]) => {
      const values = await read(scope);
      const words = values.map(({ value, name }) => (name === undefined ? value : `${value} (${name})`));
      const said = words.length > 0 ? ` Here: ${words.join(', ')}.` : '';
      return [name, { ...properties[name], description: `${properties[name]?.description}${said}` }] as const;
    }),
  );
  const inputSchema = { ...tool.inputSchema, properties: { ...properties, ...Object.fromEntries(told) } };
  return { ...tool, inputSchema };
}

/** What the header `X-Known-Values` of an answer says, in words. */
export function knownValuesSaid(header: string): string {
  const filters = header.split('; ').map((filter) => {
    const [name = '', values = ''] = filter.split('=', 2);
    return `${name}: ${values.split(', ').map(decodeURIComponent).join(', ')}`;
  });
  return `Nothing was found. There are, of ${filters.join('; of ')}.`;
}
