import {
  type CatalogProduct,
  type CatalogProductCreate,
  type CatalogProductUpdate,
  CrmError,
} from '../../client/src/index.ts';
import { printable } from './cells.ts';
import { type Body, RowError } from './columns.ts';
import { CommandError, type Context, confirm, isRefusal } from './context.ts';
import { tellEmptyRows } from './import.ts';
import { inOrder } from './in-order.ts';
import { startProgress, thousands } from './progress.ts';
import { openRefusals, type Refusal } from './refusals.ts';
import { inspect, type Row } from './source.ts';
import { openTable } from './table.ts';

export type SyncOptions = {
  map: string[];
  dryRun?: boolean;
  yes?: boolean;
  archiveMissing?: boolean;
  delimiter?: string;
  concurrency: number;
};

/** The fields that differ. Null clears a list, which then reads as empty; variants can only be created. */
function differences(product: CatalogProduct, body: Body): CatalogProductUpdate {
  const differing = Object.entries(body).filter(([name, wanted]) => {
    if (name === 'variants') return false;
    const have = product[name as keyof CatalogProduct];
    return JSON.stringify(Array.isArray(have) ? (wanted ?? []) : wanted) !== JSON.stringify(have);
  });
  return Object.fromEntries(differing) as CatalogProductUpdate;
}

type Outcome =
  | { refusal: Refusal }
  | { result: 'left alone' }
  | { result: 'created' | 'changed' | 'unchanged'; code: string; changes: Body; product?: CatalogProduct };

type Synced = Extract<Outcome, { code: string }>;

/** So many refusals of a trial are shown; the file has all. */
const SHOWN = 5;

/** Each change on a line: code, field, old and new value as JSON, the old one empty for a product that is new. */
const changeLines = ({ code, changes, product }: Synced): string =>
  Object.entries(changes)
    .map(([name, wanted]) => {
      const old = product ? JSON.stringify(product[name as keyof CatalogProduct]) : '';
      return `${[code, name, old, JSON.stringify(wanted)].map(printable).join('\t')}\n`;
    })
    .join('');

const refused = (code: string, message: string): Outcome => ({ refusal: { code, message } });

/**
 * Makes the catalog what the file says, product by product, by their externalReferenceCode.
 * @returns how many rows were refused
 */
export async function syncProducts(context: Context, path: string, options: SyncOptions): Promise<number> {
  const { crm, errors, output, stop, cancel: signal, onLimit } = context;
  const source = await inspect(path, { delimiter: options.delimiter });
  const { header, rows, toBody, refusalFor } = await openTable(context, source, 'products', {
    map: options.map,
    needs: ['externalReferenceCode'],
    clears: 'nullable',
  });
  if (!options.dryRun && !options.yes && !(await confirm(context, 'Sync products?', true))) return 0;

  const byCode = new Map<string, CatalogProduct[]>();
  for (const product of await crm.products.snapshot({}, { signal })) {
    const code = product.externalReferenceCode;
    if (code !== null) byCode.set(code, [...(byCode.get(code) ?? []), product]);
  }

  const inFile = new Set<string>();
  const counts = { created: 0, changed: 0, unchanged: 0, 'left alone': 0, refused: 0 };
  let unread = 0;
  const work = async (row: Row): Promise<Outcome> => {
    try {
      const body = toBody(row);
      const code = body.externalReferenceCode;
      if (typeof code !== 'string') return { result: 'left alone' };
      if (inFile.has(code)) return refused('DUPLICATE_CODE', `the file has ${code} in an earlier row, too`);
      inFile.add(code);
      const [product, another] = byCode.get(code) ?? [];
      if (another)
        return refused('AMBIGUOUS_CODE', `several products have the code ${code}: archive all but one`);
      if (!product) {
        if (body.title === undefined) return refused('VALIDATION_FAILED', 'no title');
        const made = withoutNulls(body);
        if (!options.dryRun) await crm.products.create(made as CatalogProductCreate, { signal });
        return { result: 'created', code, changes: made };
      }
      const changes = differences(product, body);
      if (Object.keys(changes).length === 0) return { result: 'unchanged', code, changes };
      if (!options.dryRun) await crm.products.update(product.id, changes, { signal });
      return { result: 'changed', code, changes, product };
    } catch (error) {
      if (error instanceof RowError) unread += 1;
      if (error instanceof RowError || isRefusal(error)) return { refusal: refusalFor(row, error) };
      throw error;
    }
  };

  const progress = startProgress(errors, 'rows');
  onLimit.tell = progress.held;
  const refusals = await openRefusals(source, header);
  let settled = 0;
  try {
    await inOrder(rows, {
      work,
      concurrency: options.concurrency,
      signal: stop,
      settle: async (row, outcome) => {
        settled += 1;
        if ('refusal' in outcome) {
          counts.refused += 1;
          if (options.dryRun && counts.refused <= SHOWN)
            errors.write(`line ${row.line}: ${printable(outcome.refusal.message)}\n`);
          await refusals.add(row, outcome.refusal);
        } else {
          counts[outcome.result] += 1;
          if (options.dryRun && 'code' in outcome) output.write(changeLines(outcome));
        }
        progress.update({ done: row.line, total: source.lines, rows: settled, counts });
      },
    });
    if (stop.aborted) throw stop.reason;
  } catch (error) {
    progress.end('Stopped');
    const { message, exitCode = 1 } = error as { message: string; exitCode?: number };
    throw new CommandError(`${message}\nRun it again to go on: what is done stays done.`, exitCode);
  } finally {
    await refusals.close();
  }
  progress.end(options.dryRun ? 'Nothing was sent' : 'Done');
  tellEmptyRows(errors, source);
  if (counts['left alone'] > 0)
    errors.write(`${thousands(counts['left alone'])} rows have no code and were left alone.\n`);
  if (counts.refused > 0)
    errors.write(
      `${thousands(counts.refused)} rows were refused: ${refusals.path} has them with the reasons.\n`,
    );

  const gone = [...byCode].filter(([code]) => !inFile.has(code)).flatMap(([, products]) => products);
  if (gone.length > 0) {
    errors.write(`${thousands(gone.length)} products of the catalog are not in the file:\n`);
    for (const { externalReferenceCode, id, title } of gone)
      output.write(`${[externalReferenceCode ?? '', id, title].map(printable).join('\t')}\n`);
  }
  if (options.archiveMissing && gone.length > 0 && !options.dryRun)
    await archiveMissing(context, gone, {
      isTold: options.yes === true,
      isEmptyFile: inFile.size === 0,
      unread,
    });
  return counts.refused;
}

/** A product that is made has nothing to clear. */
const withoutNulls = (body: Body): Body =>
  Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null));

async function archiveMissing(
  context: Context,
  gone: readonly CatalogProduct[],
  { isTold, isEmptyFile, unread }: { isTold: boolean; isEmptyFile: boolean; unread: number },
): Promise<void> {
  const { crm, errors, cancel: signal } = context;
  if (isEmptyFile) throw new CommandError('The file names no product at all: nothing is archived.');
  if (unread > 0)
    throw new CommandError(
      `${thousands(unread)} rows could not be read, and may be those of such products: nothing is archived.`,
    );
  const question = `Archive these ${thousands(gone.length)} products? The dashboard can restore them for 30 days.`;
  if (!isTold && !(await confirm(context, question, false))) {
    errors.write('Nothing was archived; --yes says so in advance.\n');
    return;
  }
  for (const { id } of gone)
    await crm.products.archive(id, { signal }).catch((error: unknown) => {
      // Somebody archived it meanwhile, or a first try whose answer was lost.
      if (!(error instanceof CrmError && error.is('CATALOG_PRODUCT_NOT_FOUND'))) throw error;
    });
  errors.write(`${thousands(gone.length)} products were archived.\n`);
}
