import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import type { CrmClient, CustomerContact, Walk } from '../../client/src/index.ts';
import { csvLine, toCell } from './cells.ts';
import { CommandError, type Context } from './context.ts';
import { LISTS } from './document.ts';
import { listCell } from './fields.ts';
import { startProgress } from './progress.ts';

export type ExportOptions = {
  format?: 'csv' | 'ndjson';
  delimiter: string;
  output?: string;
  filter: string[];
  /** The name of the rows in the progress. */
  unit?: string;
};

/** Their order is that of the columns. */
const CHANNELS: Record<CustomerContact['identifierType'], true> = {
  whatsapp: true,
  telefono: true,
  email: true,
  instagram: true,
  messenger: true,
  web: true,
};

/** Columns by which a person recognizes a record come first. */
const FIRST = ['id', 'externalReferenceCode', 'firstName', 'lastName', 'displayName', 'contacts'];

/** The lists of the service: a new one is exported without a change here. */
export type Exportable = keyof CrmClient;

export const exportable = Object.keys(LISTS) as Exportable[];

/** A column for each field of the records; contacts have one for each channel. */
function columnsOf(resource: Exportable): string[] {
  const fields = LISTS[resource]?.fields ?? [];
  const first = FIRST.filter((field) => fields.includes(field));
  return [...first, ...fields.filter((field) => !first.includes(field))].flatMap((field) =>
    field === 'contacts' ? Object.keys(CHANNELS).map((channel) => `contacts.${channel}`) : field,
  );
}

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
  // Spreadsheets that delimit with the semicolon take the comma for the decimal mark.
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

/** @throws CommandError for a filter that the list does not have */
function filtersOf(filters: readonly string[], resource: Exportable): Record<string, string> {
  const known = LISTS[resource]?.filters ?? [];
  return Object.fromEntries(
    filters.map((filter) => {
      const [, name = '', value = ''] = /^([^=]+)=(.*)$/s.exec(filter) ?? [];
      if (name === '')
        throw new CommandError(`--filter ${filter}: write name=value, such as --filter status=active.`);
      if (!known.includes(name))
        throw new CommandError(
          `--filter ${name}: ${resource} have no such filter. They have: ${known.join(', ')}.`,
        );
      return [name, value];
    }),
  );
}

const MAX_WALKS = 10;

/**
 * Writes every row of a list once. Repeats the walk until the list did not change during it: no row that moved is missed.
 * @returns how many rows there are
 * @throws CommandError when the list changed during each of ten walks
 */
export async function exportList(
  context: Context,
  resource: Exportable,
  options: ExportOptions,
): Promise<number> {
  const { crm, errors, stop: signal, onRetry } = context;
  const format = options.format ?? (/\.(ndjson|jsonl)$/i.test(options.output ?? '') ? 'ndjson' : 'csv');
  const output = options.output === undefined ? context.output : createWriteStream(options.output);
  const columns = columnsOf(resource);
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
  onRetry.report = progress.held;

  /** Writes what is new; false when the list changed meanwhile. */
  const pass = async (): Promise<boolean> => {
    const seen = new Set<string>();
    let total: number | undefined;
    let isSettled = true;
    for await (const { data, pagination } of walk.pages()) {
      total ??= pagination.total;
      if (pagination.total !== total) isSettled = false;
      for (const { id } of data) {
        if (seen.has(id)) isSettled = false;
        seen.add(id);
      }
      const fresh = data.filter(({ id }) => !written.has(id));
      for (const { id } of fresh) written.add(id);
      await write(head + render(fresh));
      head = '';
      const done = written.size;
      progress.update({ done, total: pagination.total, rows: done, counts: {} });
    }
    return isSettled;
  };
  try {
    for (let walks = 1; !(await pass()); walks += 1) {
      if (walks === MAX_WALKS)
        throw new CommandError(
          `The list changed during each of ${MAX_WALKS} walks. Rows may be missing: export it again.`,
        );
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
