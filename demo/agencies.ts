import { Readable } from 'node:stream';
import { type OrganizationScope, type Queries, scopeTo } from '../src/db/index.ts';
import type { AttachmentDescription } from '../src/files/multipart.ts';
import { type FileStorage, storageKey } from '../src/files/storage.ts';
import type { StoredFile } from '../src/files/upload.ts';
import { createOrganization } from '../src/organizations/repository.ts';
import { pipelineStageRecord } from '../src/pipeline-stages/repository.ts';
import { recordAttachment } from '../src/quotes/attachments.repository.ts';
import { demoConversations } from './conversations.ts';
import { demoCustomers } from './customers.ts';
import { neighbour } from './neighbour.ts';
import { fileNameOf, pdfOf } from './pdf.ts';
import { demoProducts } from './products.ts';
import { changedAfter, daysAgo, idOf } from './random.ts';
import { type DemoQuote, demoOpportunities, demoQuotes } from './sales.ts';
import { demoStages, demoTeam } from './team.ts';
import {
  past,
  toldBy,
  writeConversations,
  writeCustomer,
  writeMember,
  writeOpportunity,
  writeProduct,
  writeQuote,
} from './write.ts';

/** Writes the demo's two organizations. */

async function open(db: Queries, name: string, foundedDaysAgo: number): Promise<OrganizationScope> {
  const { id } = await createOrganization(db, name, idOf(`organization ${name}`, daysAgo(foundedDaysAgo)));
  // The whole demo is written in one transaction.
  return scopeTo({ for: () => db }, id);
}

type Attachment = {
  quoteId: string;
  file: Pick<StoredFile, 'id' | 'sizeBytes'>;
  description: AttachmentDescription;
};

/** Generates and stores the files under fixed ids: a repeated load overwrites the same files. */
const storeFiles = (
  { organizationId }: OrganizationScope,
  storage: FileStorage,
  quotes: readonly DemoQuote[],
): Promise<Attachment[]> =>
  Promise.all(
    quotes.flatMap((quote) =>
      quote.attachments.map(async ({ id, kind }) => {
        const pdf = pdfOf(quote, kind);
        await storage.put(storageKey(organizationId, id), Readable.from([pdf]));
        const description = { kind, fileName: fileNameOf(quote, kind), mimeType: 'application/pdf' };
        return { quoteId: quote.id, file: { id, sizeBytes: pdf.length }, description };
      }),
    ),
  );

/** Fills an empty organization with the agency's records. */
export async function fillAgency(scope: OrganizationScope, storage: FileStorage): Promise<void> {
  const agency = {
    products: demoProducts(),
    customers: demoCustomers(),
    team: demoTeam(),
    stages: demoStages(),
  };
  const opportunities = demoOpportunities(agency);
  const quotes = demoQuotes(opportunities);
  // Files and records are written at the same time; an error of a file is thrown where the files are awaited.
  const files = storeFiles(scope, storage, quotes);
  files.catch(() => undefined);

  for (const { id, input, since } of agency.team)
    await writeMember(scope, id, { ...input, ...past(since, changedAfter(id, 90, since)) });
  for (const { id, input } of agency.stages) await pipelineStageRecord.put(scope, id, input);
  for (const { id, input, media, since } of agency.products)
    await writeProduct(scope, id, { ...input, ...media, ...past(since, changedAfter(id, 700, since)) });
  const talks = demoConversations(agency, opportunities).flat();
  const { names, spoken } = toldBy(talks);
  for (const { id, input, since } of agency.customers) {
    const changed = changedAfter(id, 2, since, ...(spoken.get(id) ?? []));
    await writeCustomer(scope, id, input, names, past(since, changed));
  }
  for (const { id, input, since } of opportunities) {
    const active = new Date(input.lastActivityAt ?? since);
    await writeOpportunity(scope, id, { ...input, ...past(since, changedAfter(id, 3, since, active)) });
  }
  await writeConversations(scope, talks);
  for (const { id, input, opens, since, opportunity } of quotes) {
    const published = input.publishedAt ? [new Date(input.publishedAt)] : [];
    const changed = opens.at(-1) ?? changedAfter(id, 1, since, ...published);
    await writeQuote(
      scope,
      id,
      { ...input, customerId: opportunity.customer.id },
      opens,
      past(since, changed),
    );
  }
  for (const { quoteId, file, description } of await files) {
    await recordAttachment(scope, quoteId, file, description);
  }
}

export async function loadAgency(db: Queries, storage: FileStorage): Promise<OrganizationScope> {
  const scope = await open(db, 'Rutas del Sur Viajes', 1_470);
  await fillAgency(scope, storage);
  return scope;
}

/** A second, small organization, which shows that organizations are isolated. */
export async function loadNeighbour(db: Queries): Promise<void> {
  const scope = await open(db, 'Aurora Turismo', 400);
  const { members, stages, products, customers, opportunities, conversations, quotes } = neighbour();
  for (const { id, input, since } of members)
    await writeMember(scope, id, { ...input, ...past(since, since) });
  for (const { id, input } of stages) await pipelineStageRecord.put(scope, id, input);
  for (const { id, input, since } of products)
    await writeProduct(scope, id, { ...input, ...past(since, changedAfter(id, 90, since)) });
  const { names, spoken } = toldBy(conversations);
  for (const { id, input, since } of customers)
    await writeCustomer(
      scope,
      id,
      input,
      names,
      past(since, changedAfter(id, 2, since, ...(spoken.get(id) ?? []))),
    );
  for (const { id, input, since } of opportunities)
    await writeOpportunity(scope, id, { ...input, ...past(since, changedAfter(id, 3, since)) });
  await writeConversations(scope, conversations);
  for (const { id, input, since } of quotes)
    await writeQuote(scope, id, input, [], past(since, changedAfter(id, 1, since)));
}
