import { writeFile } from 'node:fs/promises';
import type { CountryCode } from 'libphonenumber-js/max';
import { contactKey } from '../../rules/contact-key.ts';
import { type Body, type Contact, RowError, type SkippedCell, withSafeStatus } from '../src/columns.ts';
import { type Context, connect } from '../src/context.ts';
import type { Importable } from '../src/document.ts';
import { checker } from '../src/rules.ts';
import { inspect } from '../src/source.ts';
import { confirmTable, openTable } from '../src/table.ts';

type Options = { resource?: Importable; map?: string[]; country?: CountryCode; skips?: boolean };

/** Each contact as `channel key`. */
export const contactsOf = ({ contacts }: Body): string[] =>
  (contacts as Contact[]).map(
    ({ identifierType, identifierValue }) =>
      `${identifierType} ${contactKey(identifierType, identifierValue)}`,
  );

/**
 * Reads a file as `crm import --yes` does, and sends nothing.
 * @returns what it prints, the bodies, and what is wrong with rows and cells: `2 column "email" …`
 */
export async function readFileAs(path: string, options: Options = {}) {
  const { resource = 'customers', map = [], country, skips = true } = options;
  let said = '';
  const errors = { write: (text: string) => (said += text) } as unknown as Context['errors'];
  const access = { url: 'http://localhost', key: undefined, retries: 0 };
  const context: Context = { ...connect(access, new AbortController()), errors };
  const given = { map, ...(country !== undefined && { country }) };
  const table = await openTable(context, await inspect(path), resource, given);
  await confirmTable(context, table, { resource, question: '', isSure: true });
  const check = checker(resource, { isOnce: true });
  const bodies: Body[] = [];
  const problems: string[] = [];
  for await (const row of table.rows) {
    const skipped: SkippedCell[] = [];
    let body: Body = {};
    try {
      body = withSafeStatus(table.toBody(row, skips ? skipped : undefined), skipped);
      check(body, row.line);
      bodies.push(body);
      problems.push(...skipped.map(({ message }) => `${row.line} without ${message}`));
    } catch (error) {
      if (!(error instanceof RowError)) throw error;
      problems.push(`${row.line} ${table.rejectionFor(row, error, body).message}`);
    }
  }
  return { said, bodies, problems };
}

/** The same of a text; `file` returns the path of a name. */
export const textReader =
  (file: (name: string) => string) => async (text: string | Buffer, options?: Options) => {
    const path = file('table.csv');
    await writeFile(path, text);
    return readFileAs(path, options);
  };
