import { type FileHandle, open } from 'node:fs/promises';
import type { CrmError } from '../../client/src/index.ts';
import { csvLine, fromCell, toCell } from './cells.ts';
import { REFUSAL_COLUMNS, RowError } from './columns.ts';
import type { Row, Source } from './source.ts';

/** Why a row was not taken. */
export type Refusal = { code: string; message: string; customerId?: string | undefined };

/** @param say puts a fault of a row into the words of whoever made the file */
export function refusalOf(
  error: CrmError | RowError,
  say: (path: string, message: string) => string,
): Refusal {
  const { code } = error;
  if (error instanceof RowError)
    return { code, message: error.path === undefined ? error.message : say(error.path, error.message) };
  const said = error.details.map((detail) =>
    say(detail.path, 'customerId' in detail ? `belongs to customer ${detail.customerId}` : detail.message),
  );
  const message = said.length > 0 ? said.join('; ') : error.message;
  const customerId = error.is('CUSTOMER_CONTACT_CONFLICT') ? error.details[0]?.customerId : undefined;
  return { code, message, ...(customerId !== undefined && { customerId }) };
}

/** `leads.csv` → `leads.rejected.csv` */
const refusalsPath = (path: string): string =>
  /\.[^./\\]+$/.test(path) ? path.replace(/(\.[^./\\]+)$/, '.rejected$1') : `${path}.rejected`;

/**
 * The file of refused rows: the table that they came from with the reason in front, so that it can be mended and imported.
 * It exists once there is a row for it.
 */
export type RefusalFile = {
  path: string;
  add: (row: Row, refusal: Refusal) => Promise<void>;
  /** Length in bytes: what lies beyond it was not settled. */
  size: () => number;
  close: () => Promise<void>;
};

export async function openRefusals(
  source: Source,
  header: readonly string[],
  /** Length to go on from; without it a file that is there is replaced. */
  from = 0,
): Promise<RefusalFile> {
  const path = refusalsPath(source.path);
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
  /** A refused row that is refused again has its old reason replaced. */
  const isAgain = REFUSAL_COLUMNS.every((column, index) => header[index] === column);
  const own = (cells: readonly string[]) =>
    (isAgain ? cells.slice(REFUSAL_COLUMNS.length) : cells).map((cell) => toCell(fromCell(cell)));
  return {
    path,
    add: async ({ line, cells, object }, { code, message, customerId }) => {
      if (source.format === 'ndjson')
        return write(`${JSON.stringify({ line, code, message, customerId, row: object })}\n`);
      // Excel reads UTF-8 only behind a byte order mark.
      if (size === 0) await write(`\ufeff${csv([...REFUSAL_COLUMNS, ...own(header)])}`);
      await write(csv([String(line), ...[code, message, customerId].map(toCell), ...own(cells)]));
    },
    size: () => size,
    close: async () => file?.close(),
  };
}
