import type { Migration } from '../src/db/index.ts';

/** What a migration must not do to tables in use, and what to do instead. docs/releasing.md has further rules. */

/** Without comments, quotes and line breaks. */
const plain = (statement: string): string =>
  statement
    .replace(/--.*$|"/gm, '')
    .replace(/\s+/g, ' ')
    .replace(/;\s*$/, '')
    .trim()
    .toLowerCase();

const INDEX =
  /^(create (?:unique )?|drop )index (concurrently )?(if (?:not )?exists )?(\w+)(?: on (?:only )?(?:public\.)?(\w+))?/;
const ALTER = /^alter table (?:if exists )?(?:only )?(?:public\.)?(\w+) (.*)$/;

/** Changes that read or write all rows of a table under an exclusive lock. */
const SLOW_CHANGES: [RegExp, string][] = [
  [/^alter (column )?\w+ (set data )?type /, 'changes the type of a column: add a new column instead'],
  [/ set not null/, 'checks every row for null: add a check constraint that is not valid first'],
  [
    /^add constraint (?!.* not valid)/,
    'checks every row: add it not valid, validate it in the next migration',
  ],
  [/^add column .* generated always as/, 'computes a column for every row: let a trigger maintain it'],
  [
    /^add column (?!.* (default|generated) ).* not null/,
    'has no value for the rows that exist: give it a default, or let it be null',
  ],
  [/^add column .* default .*(random|uuid|clock_timestamp)/, 'computes a default for every row'],
  [/^add column .*(references|unique|primary key)/, 'builds an index or checks every row'],
];

const createdIn = (statements: readonly string[]): Set<string | undefined> =>
  new Set(statements.map((text) => /^create table (?:if not exists )?(\w+)/.exec(plain(text))?.[1]));

/** Whether the statement creates or drops an index of a table that exists already, which would block its writers. */
export function isIndexOfTableInUse(statement: string, all: readonly string[]): boolean {
  const index = INDEX.exec(plain(statement));
  return index !== null && (index[5] === undefined || !createdIn(all).has(index[5]));
}

/** The rules that the migration breaks. */
export function dangersOf({ tag, statements }: Pick<Migration, 'tag' | 'statements'>): string[] {
  const created = createdIn(statements);
  const texts = statements.map(plain).filter((text) => text !== '');
  const indexes = texts.map((text) => INDEX.exec(text));
  const drops = indexes.filter((index) => index?.[1] === 'drop ');
  const isConcurrent = indexes.some((index) => index?.[2]);

  const errorsOf = (text: string, index: RegExpExecArray | null | undefined): string[] => {
    const [, altered = '', change = ''] = ALTER.exec(text) ?? [];
    if (!index && isConcurrent && !text.startsWith('analyze '))
      return ['stands beside concurrent indexes, which have no transaction: write it in another migration'];
    if (!index)
      return created.has(altered) ? [] : SLOW_CHANGES.flatMap(([is, why]) => (is.test(change) ? [why] : []));
    const [, verb, concurrently, ifExists, name] = index;
    if (!concurrently && isIndexOfTableInUse(text, statements))
      return ['is not concurrent: write concurrently, in a migration of its own'];
    if (concurrently && !ifExists) return ['cannot be repeated: write if exists, if not exists'];
    // The old index is dropped before it, or has its name.
    const isLate = drops.some((drop) => drop?.[4] === name || indexes.indexOf(drop) < indexes.indexOf(index));
    return verb !== 'drop ' && isLate
      ? ['leaves lists without an index: give the new one another name, and drop the old one after it']
      : [];
  };
  const say = (text: string) => (error: string) => `${tag}: ${text}: ${error}`;
  return texts.flatMap((text, position) => errorsOf(text, indexes[position]).map(say(text)));
}
