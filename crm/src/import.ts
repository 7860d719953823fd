import { hash } from 'node:crypto';
import type { CountryCode } from 'libphonenumber-js/max';
import { type CatalogProductCreate, CrmError, type CustomerCreate } from '../../client/src/index.ts';
import { differences, hasVariants, productsByCode } from './catalog.ts';
import { printable, quoted } from './cells.ts';
import { type Body, RowError, type SkippedCell, withSafeStatus } from './columns.ts';
import { CommandError, type Context, isRejection } from './context.ts';
import type { Importable } from './document.ts';
import { applyChanges, changesOf, type Edited, identityReader, withCustomers } from './edited.ts';
import { inOrder } from './in-order.ts';
import { changeLines, reportEmptyRows, startProgress, thousands } from './progress.ts';
import { openRejections, type Rejection, skippedCells } from './rejections.ts';
import { checker, contactKeys } from './rules.ts';
import { inspect, type Row, type Source } from './source.ts';
import {
  type ImportState,
  type OnBadContact,
  readJson,
  removeState,
  replaceFile,
  statePath,
} from './state.ts';
import { confirmTable, openTable } from './table.ts';
import { createOrUpdate, type Sent, sentOf, type UpdateMode } from './update.ts';

export type ImportOptions = {
  map: string[];
  dryRun?: boolean;
  resume?: boolean;
  restart?: boolean;
  /** Update the customer that has a row's contact, instead of rejecting the row. */
  update?: UpdateMode;
  /** The country of telephone numbers without a country code. */
  country?: CountryCode;
  onBadContact?: OnBadContact;
  yes?: boolean;
  delimiter?: string;
  concurrency: number;
};

const SAVE_EVERY_MS = 500;
/** How many rows a dry run shows. */
const SHOWN = 5;

/** The same row has the same key whenever it is sent: within 24 hours the service creates one record for it. */
const keyOf = (resource: Importable, number: number, body: Body): string =>
  `import-${hash('sha256', JSON.stringify([resource, number, body])).slice(0, 40)}`;

/** Options that --resume takes from the first run. */
const REPEATED = {
  '--map': 'map',
  '--update': 'update',
  '--country': 'country',
  '--on-bad-contact': 'onBadContact',
} as const;

async function resumable(source: Source, resource: Importable, options: ImportOptions) {
  const state =
    options.restart || options.dryRun ? undefined : await readJson<ImportState>(statePath(source.path));
  // Without a settled row there is nothing to continue.
  if (!state || (state.rows === 0 && !options.resume)) {
    if (options.resume && !options.dryRun)
      throw new CommandError(`There is no unfinished import of ${source.path}.`);
    return undefined;
  }
  if (!options.resume)
    throw new CommandError(
      `An import of ${source.path} is unfinished (${thousands(state.rows)} rows done): use --resume to continue, or --restart to start over.`,
    );
  if (state.resource !== resource)
    throw new CommandError(`The import began with ${state.resource}: use --restart to start over.`);
  if (state.fingerprint !== source.fingerprint)
    throw new CommandError(`${source.path} has changed since its import began: use --restart to start over.`);
  for (const [option, name] of Object.entries(REPEATED)) {
    // Without --map, its list is empty.
    const asked = String(options[name] ?? '');
    if (asked !== '' && asked !== String(state[name]))
      throw new CommandError(`The import began with another ${option}: use --restart to start over.`);
  }
  return state;
}

/** What became of rows, in the order in which it is shown. */
const NO_ROWS = {
  ...{ 'would be sent': 0, 'would be updated': 0, created: 0, 'created before': 0, updated: 0, unchanged: 0 },
  ...{ 'not compared': 0, rejected: 0, 'with a skipped contact': 0, 'with a skipped value': 0 },
};
type Counts = typeof NO_ROWS;
type Result = Exclude<keyof Counts, 'rejected' | 'with a skipped contact' | 'with a skipped value'>;

type Outcome = { rejection: Rejection } | { result: Result; skipped: SkippedCell[]; text?: string };

/**
 * Returns what runs work in the order of the file where rows have a contact in common: the first row gets it.
 * Other rows wait for nothing.
 */
function contactQueue(): <T>(body: Body, work: () => Promise<T>) => Promise<T> {
  const last = new Map<string, Promise<unknown>>();
  return async (body, work) => {
    const keys = contactKeys(body);
    const done = Promise.allSettled(keys.map((key) => last.get(key))).then(work);
    for (const key of keys) last.set(key, done);
    try {
      return await done;
    } finally {
      for (const key of keys) if (last.get(key) === done) last.delete(key);
    }
  };
}

/**
 * Returns a check of the codes of products: none is created twice. @returns whether the catalog has the row already
 * @throws RowError when an earlier row, or another product, has the code
 */
function codeChecker(context: Context): (body: Body, line: number) => Promise<boolean> {
  const lines = new Map<string, number>();
  let catalog: ReturnType<typeof productsByCode> | undefined;
  return async ({ externalReferenceCode: code, variants, ...fields }, line) => {
    if (typeof code !== 'string' || code === '') return false;
    const reject = (message: string, code: string): never => {
      throw new RowError(message, { code, path: 'body.externalReferenceCode' });
    };
    const earlier = lines.get(code);
    if (earlier !== undefined) reject(`is also in line ${earlier}`, 'DUPLICATE_CODE');
    lines.set(code, line);
    if (context.isOffline) return false;
    catalog ??= productsByCode(context).catch((error: unknown) => {
      // A key that only creates cannot read what there is.
      if (error instanceof CrmError && error.status === 403) return new Map();
      throw error;
    });
    const [product] = (await catalog).get(code) ?? [];
    if (!product) return false;
    if (Object.keys(differences(product, fields)).length > 0 || !hasVariants(product, variants))
      reject(`is the code of product ${product.id}, which crm sync products updates`, 'EXISTING_CODE');
    return true;
  };
}

/**
 * Creates a record for each row, or updates the customer that has its contact. A dry run checks each row and sends none; rows of
 * an edited export are compared with their customers, where there is a key to read them with.
 * @returns how many rows were rejected
 * @throws CommandError when it cannot go on; what is settled is saved for --resume
 */
export async function importFile(
  context: Context,
  resource: Importable,
  path: string,
  options: ImportOptions,
): Promise<number> {
  const { crm, errors, output, stop: signal, onRetry, isOffline } = context;
  if (options.update && resource !== 'customers')
    throw new CommandError('--update is for customers; crm sync products updates products.');
  const source = await inspect(path, { delimiter: options.delimiter });
  const state = await resumable(source, resource, options);
  if (state) source.delimiter = state.delimiter;
  const { map, update, country, onBadContact = 'skip' } = state ?? options;
  const table = await openTable(context, source, resource, {
    map,
    columns: state?.columns,
    isEdited: update !== undefined,
    country,
  });
  const { header, columns, rows, toBody, toEdit, rejectionFor } = table;
  const identify = update ? identityReader(columns) : () => undefined;
  const skips = onBadContact === 'skip';
  const question = { resource, question: `Import ${resource}?`, isSure: options.yes === true };
  if (options.dryRun) for (const doubt of table.doubts) errors.write(`${doubt}\n`);
  else if (!state && !(await confirmTable(context, table, question))) return 0;

  const counts: Counts = { ...NO_ROWS, ...state?.counts };
  let settled = state?.rows ?? 0;
  const already = settled;
  const rejections = openRejections(source, header, state?.rejectionBytes);
  const { fingerprint, delimiter } = source;
  const begun = { resource, fingerprint, delimiter, columns, map, update, country, onBadContact };
  async function save(): Promise<void> {
    if (options.dryRun) return;
    const done = { rows: settled, counts, rejectionBytes: rejections.size() };
    await replaceFile(statePath(path), JSON.stringify({ ...begun, ...done } satisfies ImportState));
  }
  await save();

  type Item = { row: Row; number: number; edited?: Edited };
  async function* remaining(): AsyncGenerator<Item> {
    let number = 0;
    for await (const row of rows) {
      number += 1;
      if (number > already) yield { row, number };
    }
  }
  let withoutCode = 0;
  const inTurn = contactQueue();
  const isInCatalog = codeChecker(context);
  const check = options.dryRun ? checker(resource, { isOnce: update === undefined }) : undefined;
  async function send(body: Body, line: number, idempotencyKey: string): Promise<Sent> {
    if (resource === 'customers')
      return inTurn(body, () =>
        createOrUpdate(crm, body as CustomerCreate, { mode: update, idempotencyKey, signal }),
      );
    if (await isInCatalog(body, line)) return { result: 'created before' };
    return sentOf(await crm.products.create(body as CatalogProductCreate, { idempotencyKey, signal }));
  }
  async function work({ row, number, edited }: Item): Promise<Outcome> {
    let body: Body = {};
    const skipped: SkippedCell[] = [];
    try {
      const identity = identify(row);
      body = identity ? toEdit(row) : withSafeStatus(toBody(row, skips ? skipped : undefined), skipped);
      check?.(body, row.line, { isUpdate: identity !== undefined });
      if (!body.externalReferenceCode) withoutCode += 1;
      if (edited) {
        const change = changesOf(edited, body, row.object === undefined);
        body = change.changes;
        const text = changeLines(edited.identity.id, body, change.customer);
        if (check) return { result: text === '' ? 'unchanged' : 'would be updated', skipped, text };
        return { result: await applyChanges(crm, change, signal), skipped };
      }
      if (identity && check) return { result: 'not compared', skipped };
      if (!check) return { ...(await send(body, row.line, keyOf(resource, number, body))), skipped };
      if (resource === 'products' && (await isInCatalog(body, row.line)))
        return { result: 'created before', skipped };
      return { result: 'would be sent', skipped, text: `${JSON.stringify(body)}\n` };
    } catch (error) {
      if (error instanceof RowError || isRejection(error))
        return { rejection: rejectionFor(row, error, body) };
      throw error;
    }
  }

  const progress = startProgress(errors, 'rows', already);
  onRetry.report = progress.held;
  let savedAt = 0;
  try {
    const items = remaining();
    const isCompared = update && !isOffline;
    await inOrder<Item, Outcome>(isCompared ? withCustomers(crm, items, identify, signal) : items, {
      work,
      concurrency: options.concurrency,
      signal,
      settle: async ({ row }, outcome) => {
        settled += 1;
        if ('rejection' in outcome) {
          counts.rejected += 1;
          if (check && counts.rejected <= SHOWN)
            errors.write(`line ${row.line}: ${printable(outcome.rejection.message)}\n`);
          await rejections.add(row, outcome.rejection);
        } else {
          counts[outcome.result] += 1;
          if (outcome.text && (counts['would be sent'] <= SHOWN || outcome.result === 'would be updated'))
            output.write(outcome.text);
          if (outcome.skipped.length > 0) {
            const rejection = skippedCells(outcome.skipped);
            counts[`with a skipped ${rejection.code === 'CELL_SKIPPED' ? 'value' : 'contact'}`] += 1;
            await rejections.add(row, rejection);
          }
        }
        progress.update({ done: row.line, total: source.lines, rows: settled, counts });
        if (Date.now() - savedAt < SAVE_EVERY_MS) return;
        await save();
        savedAt = Date.now();
      },
    });
    signal.throwIfAborted();
  } catch (error) {
    await save();
    progress.end('Stopped');
    const { message, exitCode = 1 } = error as { message: string; exitCode?: number };
    const hint = check ? '' : `\nTo continue: crm import ${resource} ${quoted(path)} --resume`;
    throw new CommandError(`${message}${hint}`, exitCode);
  } finally {
    await rejections.close();
  }
  if (!check) await removeState(path);
  progress.end(check ? 'Dry run' : 'Done');
  if (counts['not compared'] > 0)
    errors.write(
      'Without a key (CRM_API_KEY), the rows of an export are not compared with their customers.\n',
    );
  if (counts['would be sent'] > 0 && resource === 'customers')
    errors.write('Contacts that other customers already have are found only in the real run.\n');
  if (resource === 'products' && withoutCode > 0)
    errors.write(
      `${thousands(withoutCode)} rows have no code: another import can create their products again. A column for externalReferenceCode prevents this.\n`,
    );
  reportEmptyRows(errors, source);
  const skipped = counts['with a skipped contact'] + counts['with a skipped value'];
  if (counts.rejected > 0)
    errors.write(`Rejected rows, with the reasons: ${rejections.path} (${thousands(counts.rejected)}).\n`);
  if (skipped > 0)
    errors.write(
      `Skipped cells, with the reasons: ${rejections.path} (${thousands(skipped)} rows). Correct them, then: crm ${resource === 'products' ? 'sync' : 'import --update=fill'} ${resource} ${quoted(rejections.path)}\n`,
    );
  return counts.rejected + skipped;
}
