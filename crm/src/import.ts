import { createHash } from 'node:crypto';
import { type CatalogProductCreate, type CustomerCreate, responseInfo } from '../../client/src/index.ts';
import { printable } from './cells.ts';
import { type Body, bodyReader, doubtOf, RowError, writableOf } from './columns.ts';
import { CommandError, type Context, confirm, isOnTerminal, isRejection } from './context.ts';
import type { Importable } from './document.ts';
import { applyChanges, changesOf, type Edited, identityReader, withCustomers } from './edited.ts';
import { inOrder } from './in-order.ts';
import { changeLines, startProgress, thousands } from './progress.ts';
import { openRejections, type Rejection } from './rejections.ts';
import { checker } from './rules.ts';
import { inspect, type Row, type Source } from './source.ts';
import { type ImportState, readState, removeState, writeState } from './state.ts';
import { openTable, type Table } from './table.ts';
import { createOrUpdate, type UpdateMode } from './update.ts';

export type ImportOptions = {
  map: string[];
  dryRun?: boolean;
  resume?: boolean;
  restart?: boolean;
  /** Update the customer that has a row's contact, instead of rejecting the row. */
  update?: UpdateMode;
  yes?: boolean;
  delimiter?: string;
  concurrency: number;
};

const SAVE_EVERY_MS = 500;
/** How many rows a dry run shows. */
const SHOWN = 5;

/** Reports how many rows were empty. */
export function reportEmptyRows(errors: Context['errors'], { emptyRows }: Source): void {
  if (emptyRows > 0) errors.write(`${thousands(emptyRows)} empty rows were skipped.\n`);
}

/** The same row has the same key whenever it is sent: within 24 hours the service creates one record for it. */
const keyOf = (resource: Importable, number: number, body: Body): string =>
  `import-${createHash('sha256')
    .update(JSON.stringify([resource, number, body]))
    .digest('hex')
    .slice(0, 40)}`;

async function resumable(
  source: Source,
  resource: Importable,
  options: ImportOptions,
): Promise<ImportState | undefined> {
  const state = options.restart || options.dryRun ? undefined : await readState(source.path);
  if (!state) {
    if (options.resume && !options.dryRun)
      throw new CommandError(`There is no unfinished import of ${source.path}.`);
    return undefined;
  }
  if (!options.resume)
    throw new CommandError(
      `An import of ${source.path} is unfinished (${thousands(state.rows)} rows done): ` +
        'use --resume to continue, or --restart to start over.',
    );
  if (state.resource !== resource || state.fingerprint !== source.fingerprint)
    throw new CommandError(`${source.path} has changed since its import began: use --restart to start over.`);
  if (options.map.length > 0 && options.map.join('\n') !== state.maps.join('\n'))
    throw new CommandError('The import began with another --map: use --restart to start over.');
  if (options.update !== undefined && options.update !== state.update)
    throw new CommandError('The import began with another --update: use --restart to start over.');
  return state;
}

type Outcome = { rejection: Rejection } | { result: 'created' | 'repeated' | 'updated' | 'unchanged' };

/** @throws CommandError when the file may be of something else, and nobody is there to ask */
async function confirmImport(
  context: Context,
  { columns }: Table,
  { resource, isSure }: { resource: Importable; isSure: boolean },
): Promise<boolean> {
  const doubt = doubtOf(columns, resource);
  if (doubt === undefined) return isSure || confirm(context, `Import ${resource}?`, true);
  if (isSure || !isOnTerminal(context)) throw new CommandError(doubt);
  return confirm(context, `${doubt}\nImport ${resource}?`, false);
}

/**
 * Creates a record for each row, or updates the customer that has its contact.
 * @returns how many rows were rejected
 * @throws CommandError when it cannot go on; what is settled is saved for --resume
 */
export async function importFile(
  context: Context,
  resource: Importable,
  path: string,
  options: ImportOptions,
): Promise<number> {
  const { crm, errors, stop, cancel: signal, onRetry } = context;
  if (options.update && resource !== 'customers')
    throw new CommandError('--update is for customers; crm sync products updates products.');
  const source = await inspect(path, { delimiter: options.delimiter });
  const state = await resumable(source, resource, options);
  if (state) source.delimiter = state.delimiter;
  const update = state ? state.update : options.update;
  const table = await openTable(context, source, resource, {
    map: options.map,
    columns: state?.columns,
    isEdited: update !== undefined,
  });
  const { header, columns, rows, toBody, rejectionFor } = table;
  const identify = update ? identityReader(columns) : () => undefined;
  const readEdited = bodyReader(columns, source, resource, 'all');
  const toEdit = (row: Row) => writableOf(readEdited(row), resource);
  if (options.dryRun) return tryOut(context, source, table, { resource, update, identify, toEdit });
  const isSure = options.yes === true;
  if (!state && !(await confirmImport(context, table, { resource, isSure }))) return 0;

  const counts = { created: 0, repeated: 0, updated: 0, unchanged: 0, rejected: 0, ...state?.counts };
  let settled = state?.rows ?? 0;
  const already = settled;
  const rejections = await openRejections(source, header, state?.rejectionBytes);
  const save = () =>
    writeState(path, {
      resource,
      fingerprint: source.fingerprint,
      delimiter: source.delimiter,
      columns,
      maps: state?.maps ?? options.map,
      rows: settled,
      counts,
      update,
      rejectionBytes: rejections.size(),
    });
  await save();

  type Item = { row: Row; number: number; edited?: Edited };
  async function* remaining(): AsyncGenerator<Item> {
    let number = 0;
    for await (const row of rows) {
      number += 1;
      if (number > already) yield { row, number };
    }
  }
  async function send(body: Body, idempotencyKey: string) {
    if (resource === 'customers')
      return createOrUpdate(crm, body as CustomerCreate, { mode: update, idempotencyKey, signal });
    const product = await crm.products.create(body as CatalogProductCreate, { idempotencyKey, signal });
    return responseInfo(product)?.replayed ? 'repeated' : 'created';
  }
  async function work({ row, number, edited }: Item): Promise<Outcome> {
    let body: Body = {};
    try {
      if (edited) {
        const change = changesOf(edited, toEdit(row), row.object === undefined);
        body = change.changes;
        return { result: await applyChanges(crm, change, signal) };
      }
      body = toBody(row);
      return { result: await send(body, keyOf(resource, number, body)) };
    } catch (error) {
      if (error instanceof RowError || isRejection(error))
        return { rejection: rejectionFor(row, error, body) };
      throw error;
    }
  }

  const progress = startProgress(errors, 'rows', already);
  onRetry.report = progress.held;
  const shown = () => {
    const { created, repeated, ...others } = counts;
    return { created, 'created before': repeated, ...others };
  };
  let savedAt = Date.now();
  try {
    const items = remaining();
    await inOrder<Item, Outcome>(update ? withCustomers(crm, items, identify, signal) : items, {
      work,
      concurrency: options.concurrency,
      signal: stop,
      settle: async ({ row }, outcome) => {
        settled += 1;
        if ('rejection' in outcome) {
          counts.rejected += 1;
          await rejections.add(row, outcome.rejection);
        } else counts[outcome.result] += 1;
        progress.update({ done: row.line, total: source.lines, rows: settled, counts: shown() });
        if (Date.now() - savedAt < SAVE_EVERY_MS) return;
        await save();
        savedAt = Date.now();
      },
    });
    if (stop.aborted) throw stop.reason;
  } catch (error) {
    await save();
    progress.end('Stopped');
    const { message, exitCode = 1 } = error as { message: string; exitCode?: number };
    throw new CommandError(`${message}\nTo continue: crm import ${resource} ${path} --resume`, exitCode);
  } finally {
    await rejections.close();
  }
  await removeState(path);
  progress.end('Done');
  reportEmptyRows(errors, source);
  if (counts.rejected > 0)
    errors.write(`Rejected rows, with the reasons: ${rejections.path} (${thousands(counts.rejected)}).\n`);
  return counts.rejected;
}

/**
 * Checks every row and sends none. Rows of an edited export are compared with their customers, where there is a key to read
 * them with. All rejected rows go into their file.
 */
async function tryOut(
  context: Context,
  source: Source,
  { header, rows, toBody, rejectionFor }: Table,
  options: {
    resource: Importable;
    update: UpdateMode | undefined;
    identify: ReturnType<typeof identityReader>;
    toEdit: (row: Row) => Body;
  },
): Promise<number> {
  const { crm, errors, output, cancel: signal, isOffline } = context;
  const { resource, update, identify, toEdit } = options;
  const check = checker(resource, { isOnce: update === undefined });
  const rejections = await openRejections(source, header);
  const counts = { sent: 0, changed: 0, unchanged: 0, 'not compared': 0, rejected: 0 };
  type Item = { row: Row; edited?: Edited };
  async function* items(): AsyncGenerator<Item> {
    for await (const row of rows) yield { row };
  }
  for await (const { row, edited } of isOffline ? items() : withCustomers(crm, items(), identify, signal)) {
    let body: Body = {};
    try {
      const identity = identify(row);
      body = identity ? toEdit(row) : toBody(row);
      check(body, row.line, { isUpdate: identity !== undefined });
      if (!identity) {
        counts.sent += 1;
        if (counts.sent <= SHOWN) output.write(`${JSON.stringify(body)}\n`);
      } else if (edited) {
        const { customer, changes } = changesOf(edited, body, row.object === undefined);
        counts[Object.keys(changes).length > 0 ? 'changed' : 'unchanged'] += 1;
        output.write(changeLines(identity.id, changes, customer));
      } else counts['not compared'] += 1;
    } catch (error) {
      if (!(error instanceof RowError)) throw error;
      const rejection = rejectionFor(row, error, body);
      counts.rejected += 1;
      if (counts.rejected <= SHOWN) errors.write(`line ${row.line}: ${printable(rejection.message)}\n`);
      await rejections.add(row, rejection);
    }
  }
  await rejections.close();
  reportEmptyRows(errors, source);
  const { sent, changed, rejected, ...others } = counts;
  const named = { [`${resource} would be sent`]: sent, 'would be updated': changed, ...others, rejected };
  const parts = Object.entries(named)
    .filter(([, count]) => count > 0)
    .map(([name, count]) => `${thousands(count)} ${name}`);
  errors.write(`Dry run: ${parts.join(', ') || 'no rows'}.\n`);
  if (counts['not compared'] > 0)
    errors.write(
      'Without a key (CRM_API_KEY), the rows of an export are not compared with their customers.\n',
    );
  if (sent > 0 && resource === 'customers')
    errors.write('Contacts that other customers already have are found only in the real run.\n');
  if (rejected > 0) errors.write(`Rejected rows, with the reasons: ${rejections.path}.\n`);
  return rejected;
}
