import { createHash } from 'node:crypto';
import { answerInfo, type CatalogProductCreate, type CustomerCreate } from 'travel-agency-crm-client';
import { printable } from './cells.ts';
import { type Body, RowError } from './columns.ts';
import { CommandError, type Context, confirm, isRefusal } from './context.ts';
import type { Importable } from './fields.ts';
import { inOrder } from './in-order.ts';
import { startProgress, thousands } from './progress.ts';
import { openRefusals, type Refusal, refusalOf } from './refusals.ts';
import { inspect, type Row, type Source } from './source.ts';
import { type ImportState, readState, removeState, writeState } from './state.ts';
import { openTable } from './table.ts';

export type ImportOptions = {
  map: string[];
  dryRun?: boolean;
  resume?: boolean;
  restart?: boolean;
  yes?: boolean;
  delimiter?: string;
  concurrency: number;
};

const SAVE_EVERY = 500;
/** How many rows a trial shows. */
const SHOWN = 5;

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
  return state;
}

type Outcome = { refusal: Refusal } | { wasRepeated: boolean };

/**
 * Creates a record for each row.
 * @returns how many rows were refused
 * @throws CommandError when it cannot go on; what is done stays noted for --resume
 */
export async function importFile(
  context: Context,
  resource: Importable,
  path: string,
  options: ImportOptions,
): Promise<number> {
  const { crm, errors, stop, cancel, onLimit } = context;
  const source = await inspect(path, { delimiter: options.delimiter });
  const state = await resumable(source, resource, options);
  if (state) source.delimiter = state.delimiter;
  const { header, columns, rows, toBody } = await openTable(context, source, resource, {
    map: options.map,
    columns: state?.columns,
  });
  if (options.dryRun) return tryOut(context, rows, toBody, resource);
  if (!options.yes && !state && !(await confirm(context, `Import ${resource}?`, true))) return 0;

  const counts = {
    created: state?.created ?? 0,
    repeated: state?.repeated ?? 0,
    refused: state?.refused ?? 0,
  };
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
      ...counts,
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
  const create = async (body: Body, idempotencyKey: string): Promise<object> =>
    resource === 'customers'
      ? crm.customers.create(body as CustomerCreate, { idempotencyKey, signal: cancel })
      : crm.products.create(body as CatalogProductCreate, { idempotencyKey, signal: cancel });
  const work = async ({ row, number }: { row: Row; number: number }): Promise<Outcome> => {
    try {
      const body = toBody(row);
      const made = await create(body, keyOf(resource, number, body));
      return { wasRepeated: answerInfo(made)?.replayed ?? false };
    } catch (error) {
      if (error instanceof RowError || isRefusal(error)) return { refusal: refusalOf(error) };
      throw error;
    }
  };

  const progress = startProgress(errors, 'rows');
  onLimit.tell = progress.held;
  const shown = () => ({
    created: counts.created,
    'created before': counts.repeated,
    refused: counts.refused,
  });
  let savedAt = Date.now();
  try {
    await inOrder(remaining(), {
      work,
      concurrency: options.concurrency,
      signal: stop,
      settle: async ({ row }, outcome) => {
        settled += 1;
        if ('refusal' in outcome) {
          counts.refused += 1;
          await refusals.add(row, outcome.refusal);
        } else if (outcome.wasRepeated) counts.repeated += 1;
        else counts.created += 1;
        progress.update({ done: row.line, total: source.lines, rows: settled - already, counts: shown() });
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
  if (counts.refused > 0)
    errors.write(
      `${thousands(counts.refused)} rows were refused: ${refusals.path} has them with the reasons.\n`,
    );
  return counts.refused;
}

/** Makes the body of every row and sends none. */
async function tryOut(
  { errors, output }: Context,
  rows: AsyncIterable<Row>,
  toBody: (row: Row) => Body,
  resource: Importable,
): Promise<number> {
  let ready = 0;
  let refused = 0;
  for await (const row of rows) {
    try {
      const body = toBody(row);
      ready += 1;
      if (ready <= SHOWN) output.write(`${JSON.stringify(body)}\n`);
    } catch (error) {
      if (!(error instanceof RowError)) throw error;
      refused += 1;
      if (refused <= SHOWN) errors.write(`line ${row.line}: ${printable(error.message)}\n`);
    }
  }
  errors.write(
    `Nothing was sent. ${thousands(ready)} ${resource} would be sent, ${thousands(refused)} rows refused; ` +
      'the service checks the rest.\n',
  );
  return refused;
}
