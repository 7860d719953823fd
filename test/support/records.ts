import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { updateDashboardFields } from '../../src/catalog/repository.ts';
import { CatalogProductDashboardUpdate } from '../../src/catalog/schema.ts';
import { putConversation } from '../../src/conversations/chains.repository.ts';
import { putMessage } from '../../src/conversations/messages.repository.ts';
import { ConversationMessagePut, ConversationPut } from '../../src/conversations/schema.ts';
import type { Put } from '../../src/db/repository/put.ts';
import { newId } from '../../src/db/sql/ids.ts';
import { parseJson } from '../../src/db/sql/json.ts';
import type { FileStorage } from '../../src/files/storage.ts';
import { storeFile } from '../../src/files/upload.ts';
import { opportunityRecord } from '../../src/opportunities/repository.ts';
import { OpportunityPut } from '../../src/opportunities/schema.ts';
import { pipelineStageRecord } from '../../src/pipeline-stages/repository.ts';
import { PipelineStagePut } from '../../src/pipeline-stages/schema.ts';
import { recordAttachment } from '../../src/quotes/attachments.repository.ts';
import { quoteRecord } from '../../src/quotes/repository.ts';
import { QuotePut } from '../../src/quotes/schema.ts';
import { teamMemberRecord } from '../../src/team/repository.ts';
import { TeamMemberPut } from '../../src/team/schema.ts';
import type { Agency } from './service.ts';

/** Records that /v1 only reads, written as the dashboard writes them. Each answers what /v1 shows. */

// biome-ignore lint/suspicious/noExplicitAny: as the bodies of answers.
type Record = any;
export type Fields = { [name: string]: unknown };
/** Makes a record; with the id of one that is there, changes that one. */
export type Make = (agency: Agency, fields?: Fields, id?: string) => Promise<Record>;

/** The answer, without the fields that only the dashboard has. */
export const shown = async <T>(put: Promise<Put<T>>, ...own: (keyof T)[]): Promise<Record> => {
  const body = parseJson((await put).body);
  return Object.fromEntries(
    Object.entries(body as object).filter(([name]) => !own.includes(name as keyof T)),
  );
};

export const stage = ({ scope }: Agency, fields: Fields = {}, id = newId()) =>
  shown(
    pipelineStageRecord.put(
      scope,
      id,
      PipelineStagePut.parse({ key: `key ${id}`, name: 'Nuevo', ...fields }),
    ),
  );

export const member = ({ scope }: Agency, fields: Fields = {}, id = newId()) => {
  const preset = { userId: `user ${id}`, name: 'Lucía Romero', email: 'lucia@example.com' };
  return shown(teamMemberRecord.put(scope, id, TeamMemberPut.parse({ ...preset, ...fields })));
};

export const opportunity = ({ scope }: Agency, fields: Fields = {}, id = newId()) =>
  shown(
    opportunityRecord.put(scope, id, OpportunityPut.parse({ salesStage: 'qualified', ...fields })),
    'temperatureOverride',
    'agentTemperature',
  );

export const conversation = ({ scope }: Agency, fields: Fields = {}, id = newId()) => {
  const preset = { channel: 'whatsapp', contact: '+525512345678' };
  return shown(putConversation(scope, id, ConversationPut.parse({ ...preset, ...fields })), 'rotatedFrom');
};

export const message = ({ scope }: Agency, conversationId: string, fields: Fields = {}, id = newId()) => {
  const preset = { content: 'Hola', direction: 'inbound', messageType: 'text' };
  const body = ConversationMessagePut.parse({ ...preset, ...fields });
  return shown(putMessage(scope, conversationId, id, body), 'delivery');
};

/** A quote; without an `opportunityId`, of an opportunity of its own. */
export const quote = async (agency: Agency, fields: Fields = {}, id = newId()) => {
  const opportunityId = fields.opportunityId ?? (await opportunity(agency)).id;
  const preset = { opportunityId, title: 'Cotización', status: 'draft' };
  return shown(quoteRecord.put(agency.scope, id, QuotePut.parse({ ...preset, ...fields })));
};

/** An attachment with its file; answers what is stored of it, and its bytes. */
export async function attachment(
  { scope }: Agency,
  storage: FileStorage,
  quoteId: string,
  fields: { fileName?: string; kind?: string; mimeType?: string; content?: Buffer } = {},
) {
  const {
    content = randomBytes(2_000),
    fileName = 'cotización.pdf',
    kind = 'itinerary',
    mimeType = 'application/pdf',
  } = fields;
  const description = { fileName, kind, mimeType };
  const file = await storeFile(storage, scope.organizationId, Readable.from([content]));
  const stored = await recordAttachment(scope, quoteId, file, description);
  return { stored, content };
}

export const byPublicApi =
  (path: string, least: () => Fields): Make =>
  async (agency, fields = {}, id) =>
    (
      await (id === undefined
        ? agency.post(path, { ...least(), ...fields })
        : agency.patch(`${path}/${id}`, fields))
    ).body;

/** A customer, by the public API. */
export const customer = byPublicApi('/v1/customers', () => ({
  contacts: [{ identifierType: 'web', identifierValue: `visitor ${newId()}` }],
}));

const publicProduct = byPublicApi('/v1/catalog/products', () => ({ title: 'Oaxaca' }));

/** A product, by the public API; its destinations as the dashboard writes them. */
export const product: Make = async (agency, { destinations, ...fields } = {}, id) => {
  const made = await publicProduct(agency, fields, id);
  if (destinations === undefined) return made;
  const { variants: _, ...update } = CatalogProductDashboardUpdate.parse({ destinations });
  return parseJson(await updateDashboardFields(agency.scope, made.id, update));
};
