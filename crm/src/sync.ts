import { type CatalogProduct, type CatalogProductCreate, CrmError } from '../../client/src/index.ts';
import { differences, hasVariants, productsByCode } from './catalog.ts';
import { printable } from './cells.ts';
import { type Body, RowError, type SkippedCell, withSafeStatus, writableOf } from './columns.ts';
import { CommandError, type Context, confirm, isRejection } from './context.ts';
import { inOrder } from './in-order.ts';
import { changeLines, reportEmptyRows, startProgress, thousands } from './progress.ts';
import { openRejections, type Rejection, skippedCells } from './rejections.ts';
import { checker } from './rules.ts';
import { inspect, type Row } from './source.ts';
import { confirmTable, openTable } from './table.ts';

export type SyncOptions = {
  map: string[];
  dryRun?: boolean;
  yes?: boolean;
  archiveMissing?: boolean;
  delimiter?: string;
  concurrency: number;
};

type Written = { code: string; changes: Body; product?: CatalogProduct; skipped: SkippedCell[] };
type Outcome =
  | { rejection: Rejection }
  | { result: 'left alone' }
  | ({ result: 'created' | 'changed' | 'unchanged' } & Written);

/** How many rejections a dry run shows; the file has all. */
const SHOWN = 5;

const rejected = (code: string, message: string): Outcome => ({ rejection: { code, message } });

/**
 * Creates and updates products as the file says, by their externalReferenceCode.
 * @returns how many rows were rejected
 */
export async function syncProducts(context: Context, path: string, options: SyncOptions): Promise<number> {
  const { crm, errors, output, stop: signal, onRetry } = context;
  const source = await inspect(path, { delimiter: options.delimiter });
  const table = await openTable(context, source, 'products', {
    map: options.map,
    needs: ['externalReferenceCode'],
    clears: 'nullable',
  });
  const { header, rows, read, rejectionFor } = table;
  const asked = { resource: 'products', question: 'Sync products?', isSure: options.yes === true } as const;
  if (!options.dryRun && !(await confirmTable(context, table, asked))) return 0;

  const byCode = await productsByCode(context);
  const check = checker('products', { isOnce: false });
  const inFile = new Set<string>();
  const counts = {
    created: 0,
    changed: 0,
    unchanged: 0,
    'left alone': 0,
    rejected: 0,
    'with a skipped value': 0,
  };
  let unread = 0;
  async function work(row: Row): Promise<Outcome> {
    let body: Body = {};
    const skipped: SkippedCell[] = [];
    try {
      const { variants, ...fields } = read(row, skipped);
      body = writableOf(fields, 'products');
      const code = body.externalReferenceCode;
      if (code === undefined || code === null || code === '') return { result: 'left alone' };
      if (typeof code !== 'string') throw new RowError('externalReferenceCode must be a string');
      if (inFile.has(code)) return rejected('DUPLICATE_CODE', `an earlier row has the same code ${code}`);
      inFile.add(code);
      const products = byCode.get(code) ?? [];
      const [product] = products;
      if (products.length > 1) {
        const ids = products.map(({ id }) => id).join(', ');
        return rejected('AMBIGUOUS_CODE', `products ${ids} have the code ${code}: archive all but one`);
      }
      if (!product) {
        if (body.title === undefined) return rejected('VALIDATION_FAILED', 'no title');
        body = withoutNulls(writableOf({ ...body, ...(variants !== undefined && { variants }) }, 'products'));
        body = withSafeStatus(body, skipped);
        if (options.dryRun) check(body, row.line);
        else await crm.products.create(body as CatalogProductCreate, { signal });
        return { result: 'created', code, changes: body, skipped };
      }
      if (!hasVariants(product, variants))
        return rejected('VARIANTS_DIFFER', 'variants are changed in the dashboard');
      body = differences(product, body);
      if (Object.keys(body).length === 0) return { result: 'unchanged', code, changes: body, skipped };
      if (options.dryRun) check(body, row.line, { isUpdate: true });
      else await crm.products.update(product.id, body, { signal });
      return { result: 'changed', code, changes: body, product, skipped };
    } catch (error) {
      if (error instanceof RowError && error.path === undefined) unread += 1;
      if (error instanceof RowError || isRejection(error))
        return { rejection: rejectionFor(row, error, body) };
      throw error;
    }
  }

  const progress = startProgress(errors, 'rows');
  onRetry.report = progress.held;
  const rejections = openRejections(source, header);
  let settled = 0;
  try {
    await inOrder(rows, {
      work,
      concurrency: options.concurrency,
      signal,
      settle: async (row, outcome) => {
        settled += 1;
        if ('rejection' in outcome) {
          counts.rejected += 1;
          if (options.dryRun && counts.rejected <= SHOWN)
            errors.write(`line ${row.line}: ${printable(outcome.rejection.message)}\n`);
          await rejections.add(row, outcome.rejection);
        } else {
          counts[outcome.result] += 1;
          if (options.dryRun && 'code' in outcome)
            output.write(changeLines(outcome.code, outcome.changes, outcome.product));
          if ('skipped' in outcome && outcome.skipped.length > 0) {
            counts['with a skipped value'] += 1;
            await rejections.add(row, skippedCells(outcome.skipped));
          }
        }
        progress.update({ done: row.line, total: source.lines, rows: settled, counts });
      },
    });
    signal.throwIfAborted();
  } catch (error) {
    progress.end('Stopped');
    const { message, exitCode = 1 } = error as { message: string; exitCode?: number };
    throw new CommandError(`${message}\nTo continue, run the same command again.`, exitCode);
  } finally {
    await rejections.close();
  }
  progress.end(options.dryRun ? 'Dry run' : 'Done');
  reportEmptyRows(errors, source);
  if (counts['left alone'] > 0)
    errors.write(`${thousands(counts['left alone'])} rows without a code were left alone.\n`);
  const named = counts.rejected + counts['with a skipped value'];
  if (named > 0)
    errors.write(
      `Rejected rows and skipped values, with the reasons: ${rejections.path} (${thousands(named)}).\n`,
    );

  const gone = [...byCode].filter(([code]) => !inFile.has(code)).flatMap(([, products]) => products);
  if (gone.length > 0) {
    errors.write(`${thousands(gone.length)} products of the catalog are not in the file:\n`);
    for (const { externalReferenceCode, id, title } of gone)
      output.write(`${[externalReferenceCode ?? '', id, title].map(printable).join('\t')}\n`);
  }
  if (options.archiveMissing && gone.length > 0 && !options.dryRun)
    await archiveMissing(context, gone, {
      isSure: options.yes === true,
      isEmptyFile: inFile.size === 0,
      unread,
    });
  return named;
}

/** A new product has nothing to clear. */
const withoutNulls = (body: Body): Body =>
  Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null));

async function archiveMissing(
  context: Context,
  gone: readonly CatalogProduct[],
  { isSure, isEmptyFile, unread }: { isSure: boolean; isEmptyFile: boolean; unread: number },
): Promise<void> {
  const { crm, errors, stop: signal } = context;
  if (isEmptyFile)
    throw new CommandError('Nothing was archived: no row of the file has the code of a product.');
  if (unread > 0)
    throw new CommandError(
      `Nothing was archived: ${thousands(unread)} rows could not be read, and may have the codes of these products.`,
    );
  const question = `Archive these ${thousands(gone.length)} products? The dashboard can restore them for 30 days.`;
  if (!isSure && !(await confirm(context, question, false))) {
    errors.write('Nothing was archived; --yes archives without asking.\n');
    return;
  }
  for (const { id } of gone) {
    await crm.products.archive(id, { signal }).catch((error: unknown) => {
      // Somebody else, or a first attempt whose response was lost, has archived it.
      if (!(error instanceof CrmError && error.is('CATALOG_PRODUCT_NOT_FOUND'))) throw error;
    });
  }
  errors.write(`${thousands(gone.length)} products were archived.\n`);
}
