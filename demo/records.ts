import { readFileSync } from 'node:fs';
import type { CatalogProductCreate, CatalogProductRecordUpdate } from '../src/catalog/schema.ts';
import type { ConversationMessageImport, ConversationPut } from '../src/conversations/schema.ts';
import type { CustomerCreate } from '../src/customers/schema.ts';
import type { OpportunityPut } from '../src/opportunities/schema.ts';
import type { PipelineStagePut } from '../src/pipeline-stages/schema.ts';
import type { QuotePut } from '../src/quotes/schema.ts';
import type { TeamMemberPut } from '../src/team/schema.ts';

/**
 * The demo's two organizations, a line of JSON for each record, in the order in which they are written. Ids never change, because
 * documents name them. Timestamps follow the hour of the load, so that "this week" is never empty: `{at:-3600000}` is an hour
 * before it, `{day:86400000}` the date of the next day, and `{day:86400000:es-MX}` that date in words.
 */
const FILES = { agency: 'rutas-del-sur.jsonl', neighbour: 'aurora.jsonl' };

const HOUR_MS = 3_600_000;

type Past = { createdAt: string; updatedAt: string };

/** A PDF of one page. */
type DemoAttachment = { id: string; kind: string; fileName: string; title: string; lines: string[] };

type Fields = {
  organization: { name: string };
  member: TeamMemberPut & Past;
  stage: PipelineStagePut;
  product: CatalogProductCreate & Partial<Omit<CatalogProductRecordUpdate, 'variants'>> & Past;
  /** With the names of the contacts, from conversations. */
  customer: CustomerCreate & Past & { names: (string | null)[] };
  opportunity: Omit<OpportunityPut, 'agentTemperature'> & Past;
  conversation: ConversationPut & { createdAt: string; messages: ConversationMessageImport[] };
  quote: QuotePut &
    Past & { openCount: number; attachments: DemoAttachment[] } & Record<
      'firstOpenedAt' | 'lastOpenedAt',
      string | null
    >;
};

export type DemoRecord = {
  [Kind in keyof Fields]: { kind: Kind; id: string; fields: Fields[Kind] };
}[keyof Fields];

const WORDS = { day: 'numeric', month: 'long', timeZone: 'UTC' } as const;

/** @param now milliseconds since 1970 */
export function demoRecords(organization: keyof typeof FILES, now = Date.now()): DemoRecord[] {
  const hour = now - (now % HOUR_MS);
  const text = readFileSync(new URL(FILES[organization], import.meta.url), 'utf8');
  const dated = text.replace(/\{(at|day):(-?\d+)(?::([\w-]+))?\}/g, (_, kind, offset, locale) => {
    const date = new Date(hour + Number(offset));
    if (locale) return date.toLocaleDateString(locale, WORDS);
    return kind === 'at' ? date.toISOString() : date.toISOString().slice(0, 10);
  });
  return dated
    .trim()
    .split('\n')
    .map((line) => {
      const { kind, id, ...fields } = JSON.parse(line);
      return { kind, id, fields };
    });
}
