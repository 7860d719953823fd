import { type FileHandle, open } from 'node:fs/promises';
import type { CrmError } from '../../client/src/index.ts';
import { csvLine, fromCell, toCell } from './cells.ts';
import { isRejections, REJECTION_COLUMNS, RowError, type SkippedCell } from './columns.ts';
import type { Row, Source } from './source.ts';

/** Why a row was rejected. */
export type Rejection = { code: string; message: string; customerId?: string | undefined };

/** The key of a row includes its body, so only this is left of what `IDEMPOTENCY_KEY_REUSED` can mean. */
const GONE =
  'the row was imported in the last 24 hours, and its record archived, merged or deleted since: change the row to import it again';

/** @param say words an error of the row for whoever wrote the file */
export function rejectionOf(
  error: CrmError | RowError,
  say: (path: string, message: string) => string,
): Rejection {
  const { code } = error;
  if (error instanceof RowError)
    return { code, message: error.path === undefined ? error.message : say(error.path, error.message) };
  const said = error.details.map((detail) =>
    say(detail.path, 'customerId' in detail ? `belongs to customer ${detail.customerId}` : detail.message),
  );
  const reason = error.is('IDEMPOTENCY_KEY_REUSED') ? GONE : error.message;
  const message = said.length > 0 ? said.join('; ') : reason;
  const customerId = error.is('CUSTOMER_CONTACT_CONFLICT') ? error.details[0]?.customerId : undefined;
  return { code, message, ...(customerId !== undefined && { customerId }) };
}

/** The rejection that stands for cells without which a row was written. */
export function skippedCells(skipped: readonly SkippedCell[]): Rejection {
  const isContact = skipped.some(({ field }) => field.startsWith('contacts.'));
  const messages = skipped.map(({ field, message }) =>
    field === 'status' ? `${message}; a new product is a draft` : message,
  );
  return {
    code: isContact ? 'CONTACT_SKIPPED' : 'CELL_SKIPPED',
    message: `imported without a ${isContact ? 'contact' : 'value'}: ${messages.join('; ')}`,
  };
}

/** `leads.csv` → `leads.rejected.csv` */
const rejectionsPath = (path: string): string =>
  /\.[^./\\]+$/.test(path) ? path.replace(/(\.[^./\\]+)$/, '.rejected$1') : `${path}.rejected`;

/**
 * The file of rejected rows: the table that they came from with the reason in front, so that it can be corrected and imported.
 * It exists once there is a row for it.
 * @param from the length to resume from; without it an existing file is replaced
 */
export function openRejections(source: Source, header: readonly string[], from = 0) {
  const path = rejectionsPath(source.path);
  let size = from;
  let file: FileHandle | undefined;
  const write = async (text: string): Promise<void> => {
    if (!file) {
      file = await open(path, from > 0 ? 'r+' : 'w');
      await file.truncate(from);
    }
    const bytes = Buffer.from(text);
    await file.write(bytes, 0, bytes.length, size);
    size += bytes.length;
  };
  const csv = (cells: readonly string[]) => csvLine(cells, source.delimiter);
  /** A row that is rejected again has its old reason replaced. */
  const isAgain = isRejections(header);
  const own = (cells: readonly string[]) =>
    (isAgain ? cells.slice(REJECTION_COLUMNS.length) : cells).map((cell) => toCell(fromCell(cell)));
  return {
    path,
    add: async ({ line, cells, object }: Row, { code, message, customerId }: Rejection): Promise<void> => {
      if (source.format === 'ndjson')
        return write(`${JSON.stringify({ line, code, message, customerId, row: object })}\n`);
      // Excel reads UTF-8 only behind a byte order mark.
      if (size === 0) await write(`\ufeff${csv([...REJECTION_COLUMNS, ...own(header)])}`);
      await write(csv([String(line), ...[code, message, customerId].map(toCell), ...own(cells)]));
    },
    /** Length in bytes of what is settled. */
    size: () => size,
    close: async (): Promise<void> => file?.close(),
  };
}
