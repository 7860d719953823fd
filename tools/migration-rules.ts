import type { Migration } from '../src/db/server/migrate.ts';

/** What a migration must not do to tables that are in use. docs/changing-it.md says how to do it instead. */

/** Without comments, quotes and line breaks. */
const plain = (statement: string): string =>
  statement
    .replace(/--.*$/gm, '')
    .replaceAll('"', '')
    .replace(/\s+/g, ' ')
    .replace(/;\s*$/, '')
    .trim()
    .toLowerCase();

const INDEX =
  /^(create (?:unique )?|drop )index (concurrently )?(if (?:not )?exists )?(\w+)(?: on (?:only )?(?:public\.)?(\w+))?/;
const ALTER = /^alter table (?:if exists )?(?:only )?(?:public\.)?(\w+) (.*)$/;

/** A migration that has this on a line of its comment may compute generated columns: there is no other way to change one. */
export const REWRITE_ACCEPTED = '-- Everybody waits while rows are rewritten.';

/** What may stand beside concurrent indexes: nobody waits for it, and it can be repeated. A DO commits batch by batch. */
const REPEATABLE = /^(insert into .* on conflict do nothing|analyze .*|do .* commit;.*)$/;

const GENERATED = /^add column .* generated always as/;
/** The same, of a whole statement. */
export const GENERATED_COLUMN = /^alter table \S+ add column .*generated always as/is;

/** Changes of a table that read or write all of its rows, while nobody else can. */
const SLOW_CHANGES: [RegExp, string][] = [
  [/^alter (column )?\w+ (set data )?type /, 'changes the type of a column: add a new column instead'],
  [/ set not null/, 'checks every row for null: add a check constraint that is not valid first'],
  [
    /^add constraint (?!.* not valid)/,
    'checks every row for a constraint: add it not valid, validate it in another migration',
  ],
  [
    GENERATED,
    'computes a column for every row: there is no other way but --rewrite, see docs/changing-it.md',
  ],
  [
    /^add column (?!.* (default|generated) ).* not null/,
    'has no value for the rows that exist: give it a default, or let it be null',
  ],
  [/^add column .* default .*(random|uuid|clock_timestamp)/, 'computes a default for every row'],
  [/^add column .*(references|unique|primary key)/, 'builds an index or checks every row'],
];

/** What Citus takes of ALTER TABLE once a table is distributed. A new one is distributed at its CREATE TABLE. */
const TAKEN_BY_CITUS =
  /^(add|drop|validate|rename (?!constraint)|owner to|(re)?set \(|.*row level security|alter (column )?\w+ (set|drop) (not null|default)|alter (column )?\w+ (set data )?type) ?/;

/** What a cluster would refuse of a migration, each in a few words. */
export function refusedByCluster({ statements }: Pick<Migration, 'statements'>): string[] {
  return statements.map(plain).flatMap((text) => {
    const [, , change] = ALTER.exec(text) ?? [];
    const isTaken =
      change === undefined
        ? !/^create (or replace )?(constraint )?trigger/.test(text)
        : TAKEN_BY_CITUS.test(change);
    return isTaken ? [] : [`${text}: is refused by Citus, where the table is distributed`];
  });
}

/** The faults of a migration, each in a few words; none when nobody has to wait for it. */
export function dangersOf({ tag, statements }: Pick<Migration, 'tag' | 'statements'>): string[] {
  const texts = statements.map(plain).filter((text) => text !== '');
  const created = new Set(texts.map((text) => /^create table (?:if not exists )?(\w+)/.exec(text)?.[1]));
  const indexes = texts.map((text) => INDEX.exec(text));
  const isConcurrent = indexes.some((index) => index?.[2]);
  const dropped = indexes.flatMap((index) => (index?.[1] === 'drop ' ? [index[4]] : []));
  const firstDrop = indexes.findIndex((index) => index?.[1] === 'drop ');

  const isRewriteAccepted = statements.some((statement) => statement.includes(REWRITE_ACCEPTED));
  const slowChanges = SLOW_CHANGES.filter(([pattern]) => !(isRewriteAccepted && pattern === GENERATED));

  return texts.flatMap((text, position) => {
    const say = (fault: string) => [`${tag}: ${text}: ${fault}`];
    const [, verb, concurrently, ifExists, name, table] = indexes[position] ?? [];
    if (verb !== undefined) {
      if (!concurrently)
        return table !== undefined && created.has(table)
          ? []
          : say('is not concurrent: write concurrently, in a migration of its own');
      if (!ifExists) return say('cannot be repeated: write if exists, if not exists');
      if (verb !== 'drop ' && firstDrop >= 0 && position > firstDrop)
        return say('is built after the old one is dropped: drop the old one last');
      if (verb !== 'drop ' && dropped.includes(name))
        return say('has the name of the old one: give it a new name, the old one serves until it is built');
      return [];
    }
    if (isConcurrent && REPEATABLE.test(text)) return [];
    if (isConcurrent)
      return say(
        'stands beside concurrent indexes, which have no transaction: write it in another migration',
      );
    const [, altered, change = ''] = ALTER.exec(text) ?? [];
    if (altered === undefined || created.has(altered)) return [];
    return slowChanges.filter(([pattern]) => pattern.test(change)).flatMap(([, fault]) => say(fault));
  });
}
