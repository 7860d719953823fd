import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { productStatements, updateCatalogProduct } from '../../src/catalog/repository.ts';
import { putConversation } from '../../src/conversations/chains.repository.ts';
import { putMessage } from '../../src/conversations/messages.repository.ts';
import { ConversationMessagePut, ConversationPut } from '../../src/conversations/schema.ts';
import { newId, type Put, parseJson } from '../../src/db/index.ts';
import type { FileStorage } from '../../src/files/storage.ts';
import { storeFile } from '../../src/files/upload.ts';
import { opportunityRecord } from '../../src/opportunities/repository.ts';
import { OpportunityPut } from '../../src/opportunities/schema.ts';
import { pipelineStageRecord } from '../../src/pipeline-stages/repository.ts';
import { PipelineStagePut } from '../../src/pipeline-stages/schema.ts';
import { addAttachment } from '../../src/quotes/attachments.repository.ts';
import { quoteRecord } from '../../src/quotes/repository.ts';
import { QuotePut } from '../../src/quotes/schema.ts';
import { teamMemberRecord } from '../../src/team/repository.ts';
import { TeamMemberPut } from '../../src/team/schema.ts';
import type { Agency } from './service.ts';

/** Factories of records. Those that /v1 only reads are written as the dashboard writes them. Each returns what /v1 returns. */

// biome-ignore lint/suspicious/noExplicitAny: like the bodies of responses.
type Record = any;
export type Fields = { [name: string]: unknown };
/** Creates a record; with the id of a record, changes that record. */
export type Make = (agency: Agency, fields?: Fields, id?: string) => Promise<Record>;

/** The response, without the fields that only the dashboard has. */
const shown = async <T>(put: Promise<Put<T>>, ...own: (keyof T)[]): Promise<Record> => {
  const body = parseJson((await put).body) as Record;
  for (const name of [...own, 'archivedAt']) delete body[String(name)];
  return body;
};

export const stage = ({ scope }: Agency, fields: Fields = {}, id = newId()) => {
  const preset = { key: `key ${id}`, name: 'Nuevo' };
  return shown(pipelineStageRecord.put(scope, id, PipelineStagePut.parse({ ...preset, ...fields })));
};

export const member = ({ scope }: Agency, fields: Fields = {}, id = newId()) => {
  const preset = { userId: `user ${id}`, name: 'Lucía Romero', email: 'lucia@example.com' };
  return shown(teamMemberRecord.put(scope, id, TeamMemberPut.parse({ ...preset, ...fields })));
};

export const opportunity = ({ scope }: Agency, fields: Fields = {}, id = newId()) => {
  const body = OpportunityPut.parse({ salesStage: 'qualified', ...fields });
  return shown(opportunityRecord.put(scope, id, body), 'temperatureOverride', 'agentTemperature');
};

export const conversation = ({ scope }: Agency, fields: Fields = {}, id = newId()) => {
  const body = ConversationPut.parse({ channel: 'whatsapp', contact: '+525512345678', ...fields });
  return shown(putConversation(scope, id, body), 'rotatedFrom', 'lastMessage');
};

export const message = ({ scope }: Agency, conversationId: string, fields: Fields = {}, id = newId()) => {
  const preset = { content: 'Hola', direction: 'inbound', messageType: 'text' };
  const body = ConversationMessagePut.parse({ ...preset, ...fields });
  return shown(putMessage(scope, conversationId, id, body), 'delivery');
};

/** A quote; without an `opportunityId`, of a new opportunity of `customerId`. */
export const quote = async (agency: Agency, { customerId, ...fields }: Fields = {}, id = newId()) => {
  const opportunityId = fields.opportunityId ?? (await opportunity(agency, { customerId })).id;
  const preset = { opportunityId, title: 'Cotización', status: 'draft' };
  return shown(quoteRecord.put(agency.scope, id, QuotePut.parse({ ...preset, ...fields })));
};

/** An attachment with its file; returns the stored row and the bytes. */
export async function attachment(
  { scope }: Agency,
  storage: FileStorage,
  quoteId: string,
  {
    content = randomBytes(2_000),
    fileName = 'cotización.pdf',
    kind = 'itinerary',
    mimeType = 'application/pdf',
  }: { fileName?: string; kind?: string; mimeType?: string; content?: Buffer } = {},
) {
  const description = { fileName, kind, mimeType };
  const file = await storeFile(storage, scope.organizationId, Readable.from([content]));
  const stored = parseJson(await addAttachment(scope, quoteId, { ...description, ...file }));
  return { stored, content };
}

export type Part = [name: string, value: string | File];

export async function formOf(...parts: Part[]) {
  const form = new FormData();
  for (const [name, value] of parts) form.append(name, value);
  const encoded = new Response(form);
  const headers = { 'content-type': encoded.headers.get('content-type') ?? '' };
  return { body: Buffer.from(await encoded.arrayBuffer()), headers };
}

/** A factory that uses /v1: a POST with the required fields, or a PATCH of the record with the id. */
const byPublicApi =
  (path: string, required: () => Fields): Make =>
  async (agency, fields = {}, id) => {
    const { body } = await (id === undefined
      ? agency.post(path, { ...required(), ...fields })
      : agency.patch(`${path}/${id}`, fields));
    return body;
  };

export const contact = <Type extends string>(identifierType: Type, identifierValue: string) => ({
  identifierType,
  identifierValue,
});
export const web = (identifierValue: string) => contact('web', identifierValue);

export const customer = byPublicApi('/v1/customers', () => ({ contacts: [web(`visitor ${newId()}`)] }));

const publicProduct = byPublicApi('/v1/catalog/products', () => ({ title: 'Oaxaca' }));

/** A product; its destinations as the dashboard writes them. */
export const product: Make = async (agency, { destinations, ...fields } = {}, id) => {
  const made = await publicProduct(agency, fields, id);
  if (destinations === undefined) return made;
  const written = { destinations: destinations as string[] };
  return parseJson(await updateCatalogProduct(agency.scope, productStatements, made.id, written));
};
