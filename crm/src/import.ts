import { createHash } from 'node:crypto';
import { answerInfo, type CatalogProductCreate, type CustomerCreate } from '../../client/src/index.ts';
import { printable } from './cells.ts';
import { type Body, bodyMaker, RowError } from './columns.ts';
import { CommandError, type Context, confirm, isRefusal } from './context.ts';
import type { Importable } from './document.ts';
import { applyEdit, type Identity, identityOf, withCustomers } from './edited.ts';
import { inOrder } from './in-order.ts';
import { startProgress, thousands } from './progress.ts';
import { openRefusals, type Refusal } from './refusals.ts';
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
  /** Change the customer that has a row's contact, instead of refusing the row. */
  update?: UpdateMode;
  yes?: boolean;
  delimiter?: string;
  concurrency: number;
};

const SAVE_EVERY = 500;
/** How many rows a trial shows. */
const SHOWN = 5;

/** Rows of nothing but delimiters are no rows. */
export function tellEmptyRows(errors: Context['errors'], { emptyRows }: Source): void {
  if (emptyRows > 0) errors.write(`${thousands(emptyRows)} empty rows were skipped.\n`);
}

type Edited = Parameters<typeof applyEdit>[1];

/** Same row, same key, whenever it is sent: the service makes one record of it within its 24 hours. */
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
        '--resume goes on with it, --restart begins anew.',
    );
  if (state.resource !== resource || state.fingerprint !== source.fingerprint)
    throw new CommandError(`${source.path} is no longer the file whose import began: --restart begins anew.`);
  if (options.map.length > 0 && options.map.join('\n') !== state.maps.join('\n'))
    throw new CommandError('The import began with another --map: --restart begins anew.');
  if (options.update !== undefined && options.update !== state.update)
    throw new CommandError('The import began with another --update: --restart begins anew.');
  return state;
}

type Outcome = { refusal: Refusal } | { result: 'created' | 'repeated' | 'updated' | 'unchanged' };

/**
 * Creates a record for each row, or updates the customer that has its contact.
 * @returns how many rows were refused
 * @throws CommandError when it cannot go on; what is done stays noted for --resume
 */
export async function importFile(
  context: Context,
  resource: Importable,
  path: string,
  options: ImportOptions,
): Promise<number> {
  const { crm, errors, stop, cancel: signal, onLimit } = context;
  if (options.update && resource !== 'customers')
    throw new CommandError('--update is for customers; crm sync products changes products.');
  const source = await inspect(path, { delimiter: options.delimiter });
  const state = await resumable(source, resource, options);
  if (state) source.delimiter = state.delimiter;
  const table = await openTable(context, source, resource, {
    map: options.map,
    columns: state?.columns,
    isEdited: options.update !== undefined || state?.update !== undefined,
  });
  const { header, columns, rows, toBody, refusalFor } = table;
  const update = state ? state.update : options.update;
  const identify = update ? identityOf(columns) : () => undefined;
  const toEdit = bodyMaker(columns, source, resource, 'all');
  if (options.dryRun) return tryOut(context, source, table, { resource, update, identify, toEdit });
  if (!options.yes && !state && !(await confirm(context, `Import ${resource}?`, true))) return 0;

  const counts = { created: 0, repeated: 0, updated: 0, unchanged: 0, refused: 0, ...state?.counts };
  let settled = state?.rows ?? 0;
  const already = settled;
  const refusals = await openRefusals(source, header, state?.refusalBytes);
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
      refusalBytes: refusals.size(),
    });
  await save();

  async function* remaining(): AsyncGenerator<{ row: Row; number: number }> {
    let number = 0;
    for await (const row of rows) {
      number += 1;
      if (number > already) yield { row, number };
    }
  }
  const send = async (body: Body, idempotencyKey: string) => {
    if (resource === 'customers')
      return createOrUpdate(crm, body as CustomerCreate, { mode: update, idempotencyKey, signal });
    const made = await crm.products.create(body as CatalogProductCreate, { idempotencyKey, signal });
    return answerInfo(made)?.replayed ? 'repeated' : 'created';
  };
  const items = update ? withCustomers(crm, remaining(), identify, signal) : remaining();
  type Item = { row: Row; number: number; edited?: Edited };
  const work = async ({ row, number, edited }: Item): Promise<Outcome> => {
    try {
      const isTable = row.object === undefined;
      if (edited) return { result: await applyEdit(crm, edited, toEdit(row), { isTable, signal }) };
      const body = toBody(row);
      return { result: await send(body, keyOf(resource, number, body)) };
    } catch (error) {
      if (error instanceof RowError || isRefusal(error)) return { refusal: refusalFor(row, error) };
      throw error;
    }
  };

  const progress = startProgress(errors, 'rows', already);
  onLimit.tell = progress.held;
  const shown = () => {
    const { created, repeated, ...others } = counts;
    return { created, 'created before': repeated, ...others };
  };
  let savedAt = Date.now();
  try {
    await inOrder<Item, Outcome>(items, {
      work,
      concurrency: options.concurrency,
      signal: stop,
      settle: async ({ row }, outcome) => {
        settled += 1;
        if ('refusal' in outcome) {
          counts.refused += 1;
          await refusals.add(row, outcome.refusal);
        } else counts[outcome.result] += 1;
        progress.update({ done: row.line, total: source.lines, rows: settled, counts: shown() });
        if (Date.now() - savedAt < SAVE_EVERY) return;
        await save();
        savedAt = Date.now();
      },
    });
    if (stop.aborted) throw stop.reason;
  } catch (error) {
    await save();
    progress.end('Stopped');
    const { message, exitCode = 1 } = error as { message: string; exitCode?: number };
    throw new CommandError(`${message}\nGo on with: crm import ${resource} ${path} --resume`, exitCode);
  } finally {
    await refusals.close();
  }
  await removeState(path);
  progress.end('Done');
  tellEmptyRows(errors, source);
  if (counts.refused > 0)
    errors.write(
      `${thousands(counts.refused)} rows were refused: ${refusals.path} has them with the reasons.\n`,
    );
  return counts.refused;
}

/** Makes the body of every row, checks it and sends none. Every fault goes into the file of refused rows. */
async function tryOut(
  { errors, output }: Context,
  source: Source,
  { header, rows, toBody, refusalFor }: Table,
  options: {
    resource: Importable;
    update: UpdateMode | undefined;
    identify: (row: Row) => Identity | undefined;
    toEdit: (row: Row) => Body;
  },
): Promise<number> {
  const { resource, update, identify, toEdit } = options;
  const check = checker(resource, { isOnce: update === undefined });
  const refusals = await openRefusals(source, header);
  let ready = 0;
  let refused = 0;
  for await (const row of rows) {
    try {
      const isEdited = identify(row) !== undefined;
      const body = isEdited ? toEdit(row) : toBody(row);
      check(body, row.line, { isEdited });
      ready += 1;
      if (ready <= SHOWN) output.write(`${JSON.stringify(body)}\n`);
    } catch (error) {
      if (!(error instanceof RowError)) throw error;
      const refusal = refusalFor(row, error);
      refused += 1;
      if (refused <= SHOWN) errors.write(`line ${row.line}: ${printable(refusal.message)}\n`);
      await refusals.add(row, refusal);
    }
  }
  await refusals.close();
  tellEmptyRows(errors, source);
  errors.write(
    `Nothing was sent. ${thousands(ready)} ${resource} would be sent, ${thousands(refused)} rows refused; ` +
      'what other records have already, the run finds.\n',
  );
  if (refused > 0) errors.write(`${refusals.path} has the refused rows with the reasons.\n`);
  return refused;
}
