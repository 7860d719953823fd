import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import type { CustomerContact, Page, Walk } from '../../client/src/index.ts';
import { csvLine, toCell } from './cells.ts';
import { CommandError, type Context } from './context.ts';
import { filtersOfList, propertiesOf, schemaOf } from './document.ts';
import { listCell } from './fields.ts';
import { startProgress } from './progress.ts';

export type ExportOptions = {
  format?: 'csv' | 'ndjson';
  delimiter: string;
  output?: string;
  filter: string[];
  /** What the rows are called while it runs. */
  unit?: string;
};

/** In the order that a spreadsheet shows them in. */
const CHANNELS: Record<CustomerContact['identifierType'], true> = {
  whatsapp: true,
  telefono: true,
  email: true,
  instagram: true,
  messenger: true,
  web: true,
};

/** By these a person knows a record. */
const FIRST = ['id', 'externalReferenceCode', 'firstName', 'lastName', 'displayName', 'contacts'];

/** A column for each field of the records; contacts have one for each channel. */
function columnsOf(schema: string): string[] {
  const fields = Object.keys(propertiesOf(schemaOf(schema)));
  const first = FIRST.filter((field) => fields.includes(field));
  return [...first, ...fields.filter((field) => !first.includes(field))].flatMap((field) =>
    field === 'contacts' ? Object.keys(CHANNELS).map((channel) => `contacts.${channel}`) : field,
  );
}

const COLUMNS = {
  customers: columnsOf('Customer'),
  products: columnsOf('CatalogProduct'),
  opportunities: columnsOf('Opportunity'),
  conversations: columnsOf('Conversation'),
  quotes: columnsOf('Quote'),
  team: columnsOf('TeamMember'),
};

const PATHS: Record<keyof typeof COLUMNS, string> = {
  customers: '/v1/customers',
  products: '/v1/catalog/products',
  opportunities: '/v1/opportunities',
  conversations: '/v1/conversations',
  quotes: '/v1/quotes',
  team: '/v1/team',
};

export type Exportable = keyof typeof COLUMNS;

export const exportable = Object.keys(COLUMNS) as Exportable[];

type ExportRow = { id: string; contacts?: CustomerContact[] };

/** The value as text; undefined for none. */
function textOf(row: ExportRow, column: string, delimiter: string): string | undefined {
  if (column.startsWith('contacts.')) {
    const channel = column.slice('contacts.'.length);
    const values = row.contacts?.filter(({ identifierType }) => identifierType === channel) ?? [];
    return listCell(values.map(({ identifierValue }) => identifierValue));
  }
  const value = row[column as keyof ExportRow] as unknown;
  if (value === null || value === undefined) return undefined;
  // Spreadsheets whose delimiter is the semicolon have the comma as decimal mark.
  if (typeof value === 'number' && delimiter === ';') return String(value).replace('.', ',');
  if (Array.isArray(value) && value.every((entry) => typeof entry === 'string')) return listCell(value);
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** The table of these rows, without a header. */
const tableOf = (rows: readonly ExportRow[], columns: readonly string[], delimiter: string): string =>
  rows
    .map((row) =>
      csvLine(
        columns.map((column) => toCell(textOf(row, column, delimiter))),
        delimiter,
      ),
    )
    .join('');

/** The next page is asked for while this one is written. */
async function* ahead<Value>(values: AsyncIterable<Value>): AsyncGenerator<Value> {
  const iterator = values[Symbol.asyncIterator]();
  let next = iterator.next();
  for (;;) {
    const { value, done } = await next;
    if (done) return;
    next = iterator.next();
    // Its failure is met at the next turn.
    next.catch(() => undefined);
    yield value;
  }
}

/** @throws for a filter that the list does not have */
function filtersOf(filters: readonly string[], resource: Exportable): Record<string, string> {
  const known = filtersOfList(PATHS[resource]);
  const unknown = filters
    .map((filter) => filter.split('=', 1)[0] ?? '')
    .find((name) => !known.includes(name));
  if (unknown !== undefined && filters.every((filter) => filter.indexOf('=') > 0))
    throw new CommandError(
      `--filter ${unknown}: ${resource} have no such filter. They have: ${known.join(', ')}.`,
    );
  return Object.fromEntries(
    filters.map((filter) => {
      const at = filter.indexOf('=');
      if (at < 1)
        throw new CommandError(`--filter ${filter}: say name=value, such as --filter status=active.`);
      return [filter.slice(0, at), filter.slice(at + 1)];
    }),
  );
}

const MAX_WALKS = 10;

/**
 * Writes every row of a list once. Rows that others moved past the walk are fetched by walking again, until nothing moved.
 * @returns how many rows there are
 * @throws CommandError when the list moved during each of ten walks
 */
export async function exportList(
  context: Context,
  resource: Exportable,
  options: ExportOptions,
): Promise<number> {
  const { crm, errors, stop: signal, onLimit } = context;
  const format = options.format ?? (/\.(ndjson|jsonl)$/i.test(options.output ?? '') ? 'ndjson' : 'csv');
  const output = options.output === undefined ? context.output : createWriteStream(options.output);
  const columns = COLUMNS[resource];
  const render = (rows: readonly ExportRow[]): string =>
    format === 'ndjson'
      ? rows.map((row) => `${JSON.stringify(row)}\n`).join('')
      : tableOf(rows, columns, options.delimiter);
  const failed = new Promise<never>((_, reject) => output.on('error', reject));
  failed.catch(() => undefined);
  const write = async (text: string): Promise<void> => {
    if (!output.write(text)) await Promise.race([once(output, 'drain'), failed]);
  };

  const walk = crm[resource].walk(filtersOf(options.filter, resource), { signal }) as Walk<ExportRow>;
  const written = new Set<string>();
  // Excel reads UTF-8 only behind a byte order mark.
  let head = format === 'csv' ? `\ufeff${csvLine(columns, options.delimiter)}` : '';
  const progress = startProgress(errors, options.unit ?? 'rows');
  onLimit.tell = progress.held;

  /** Writes what is new; whether the list stood still meanwhile. */
  const pass = async (): Promise<boolean> => {
    const seen = new Set<string>();
    let total: number | undefined;
    let stoodStill = true;
    for await (const { data, pagination } of ahead<Page<ExportRow>>(walk.pages())) {
      total ??= pagination.total;
      if (pagination.total !== total) stoodStill = false;
      for (const { id } of data) {
        if (seen.has(id)) stoodStill = false;
        seen.add(id);
      }
      const fresh = data.filter(({ id }) => !written.has(id));
      for (const { id } of fresh) written.add(id);
      await write(head + render(fresh));
      head = '';
      const done = written.size;
      progress.update({ done, total: pagination.total, rows: done, counts: {} });
    }
    return stoodStill;
  };
  try {
    for (let walks = 1; !(await pass()); walks += 1) {
      if (walks === MAX_WALKS)
        throw new CommandError(`The list moved during each of ${MAX_WALKS} walks; rows may be missing.`);
    }
  } catch (error) {
    progress.end('Stopped');
    throw error;
  }
  if (output !== context.output)
    await Promise.race([new Promise<void>((done) => output.end(() => done())), failed]);
  progress.end('Done');
  return written.size;
}
