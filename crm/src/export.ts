import { createWriteStream } from 'node:fs';
import { open, rename, stat } from 'node:fs/promises';
import { finished } from 'node:stream/promises';
import type { CrmClient, CustomerContact, Page, Walk } from '../../client/src/index.ts';
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

/** In the order of the columns. */
const CHANNELS = ['whatsapp', 'telefono', 'email', 'instagram', 'messenger', 'web'];

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
    field === 'contacts' ? CHANNELS.map((channel) => `contacts.${channel}`) : field,
  );
}

type ExportRow = { id: string; createdAt: string; contacts?: CustomerContact[] };

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

/** @throws CommandError for a filter that the list does not have */
function filtersOf(filters: readonly string[], resource: Exportable): Record<string, string> {
  const known = LISTS[resource]?.filters ?? [];
  return Object.fromEntries(
    filters.map((filter, index) => {
      const [, name = '', value = ''] = /^([^=]+)=(.*)$/s.exec(filter) ?? [];
      const isTwice = filters.findIndex((one) => one.startsWith(`${name}=`)) < index;
      const mistake = known.includes(name)
        ? isTwice && `${name}: a filter takes one value`
        : name === ''
          ? `${filter}: write name=value, such as --filter status=active`
          : `${name}: ${resource} have no such filter. They have: ${known.join(', ')}`;
      if (mistake) throw new CommandError(`--filter ${mistake}.`);
      return [name, value];
    }),
  );
}

/** Renames a file that is whole on the disk. */
export async function finish(partial: string, path: string): Promise<void> {
  const file = await open(partial, 'r+');
  await file.sync().finally(() => file.close());
  await rename(partial, path);
}

const PAGE = 100;

/**
 * Writes every row of a list once. A list that changes during two walks is read by periods of creation, which never change: a
 * response with fewer than 100 rows has its whole period, and any other period is divided. So is a list whose new rows need not
 * come first: one that leaves it makes a walk miss another one.
 * @returns how many rows there are
 * @throws CommandError for a period that cannot be divided
 */
export async function exportList(
  context: Context,
  resource: Exportable,
  options: ExportOptions,
): Promise<number> {
  const { crm, errors, stop: signal, onRetry } = context;
  const format = options.format ?? (/\.(ndjson|jsonl)$/i.test(options.output ?? '') ? 'ndjson' : 'csv');
  const path = options.output;
  // A pipe or a device is written itself; an export that fails leaves the file of an earlier one.
  const isFile = path !== undefined && ((await stat(path).catch(() => undefined))?.isFile() ?? true);
  const target = isFile ? `${path}.partial` : path;
  const output = target === undefined ? context.output : createWriteStream(target);
  const columns = columnsOf(resource);
  const lineOf = (row: ExportRow): string => {
    if (format === 'ndjson') return `${JSON.stringify(row)}\n`;
    const cells = columns.map((column) => toCell(textOf(row, column, options.delimiter)));
    return csvLine(cells, options.delimiter);
  };
  output.on('error', () => undefined); // `write` rejects.
  const write = (text: string): Promise<void> =>
    new Promise((done, reject) =>
      output.write(text, (error) => (error ? reject(output.errored ?? error) : done())),
    );

  const filters = filtersOf(options.filter, resource);
  const walk = crm[resource].walk(filters, { signal }) as Walk<ExportRow>;
  const written = new Set<string>();
  // Excel reads UTF-8 only behind a byte order mark.
  let head = format === 'csv' ? `\ufeff${csvLine(columns, options.delimiter)}` : '';
  const progress = startProgress(errors, options.unit ?? 'rows');
  onRetry.report = progress.held;

  const writeNew = async (rows: readonly ExportRow[], total: number): Promise<void> => {
    const fresh = rows.filter(({ id }) => !written.has(id));
    for (const { id } of fresh) written.add(id);
    await write(head + fresh.map(lineOf).join(''));
    head = '';
    progress.update({ done: written.size, total, rows: written.size, counts: {} });
  };
  /** False when the list changed meanwhile. */
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
      await writeNew(data, pagination.total);
    }
    return isSettled;
  };
  const readPeriod = async (period: Record<string, string>): Promise<void> => {
    const list = crm[resource].list as (query: object, options: object) => Promise<Page<ExportRow>>;
    const { data, pagination } = await list({ ...filters, ...period, limit: PAGE }, { signal });
    await writeNew(data, pagination.total);
    const times = data.map(({ createdAt }) => createdAt).sort();
    if (data.length < PAGE) return;
    const middle = times.find((time, index) => index >= PAGE / 2 && time > (times[0] ?? ''));
    if (middle === undefined)
      throw new CommandError(
        `The list changes during every walk, and more than ${PAGE} rows have the createdAt ${times[0]}. Rows may be missing: export it when fewer programs write.`,
      );
    await readPeriod({ ...period, createdSince: middle });
    await readPeriod({ ...period, createdBefore: middle });
  };
  try {
    const isByChange = resource !== 'team' && (resource !== 'conversations' || options.filter.length === 0);
    if (!isByChange || (!(await pass()) && !(await pass()))) await readPeriod({});
  } catch (error) {
    progress.end('Stopped');
    throw error;
  }
  if (output !== context.output) await finished(output.end());
  if (isFile) await finish(`${path}.partial`, path);
  progress.end('Done');
  return written.size;
}
