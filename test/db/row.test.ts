import { sql } from 'drizzle-orm';
import { expect, test } from 'vitest';
import { customers } from '../../src/db/schema/index.ts';
import { columnList, columnsFrom, nextUpdatedAt, placeholdersOf, rowValues } from '../../src/db/sql/row.ts';
import { type Params, textOf, unprepared } from '../../src/db/sql/statement.ts';
import { useService } from '../support/service.ts';

const service = useService();

const columns = { firstName: customers.firstName, city: customers.city, tags: customers.tags };

test('a whole row has null for what is absent, and an empty list for a list that is absent or null', () => {
  expect(rowValues(columns, { firstName: 'Ana', city: undefined })).toEqual({
    firstName: 'Ana',
    city: null,
    tags: [],
  });
  expect(rowValues(columns, { city: null, tags: null })).toEqual({ firstName: null, city: null, tags: [] });
  expect(rowValues(columns, { tags: ['vip'] }).tags).toEqual(['vip']);
});

test('a field without a column does not compile', () => {
  // @ts-expect-error no column has this name
  expect(rowValues(columns, { nickname: 'Anita' })).not.toHaveProperty('nickname');
});

test('the names of columns stand alone, or with the relation that they come from', () => {
  expect(textOf(columnList(columns))).toBe('"first_name", "city", "tags"');
  expect(textOf(columnsFrom('kept', columns))).toBe('kept."first_name", kept."city", kept."tags"');
});

test('each value arrives as its column has it', async () => {
  const statement = unprepared('row_test.values', ($: Params<Record<keyof typeof columns, unknown>>) => {
    const values = placeholdersOf($, columns);
    return sql<{
      city: string;
      tags: string[];
    }>`select ${values.city}::text as city, ${values.tags}::text[] as tags`;
  });
  const values = rowValues(columns, { city: 'Lima', tags: ['a "b"', '', 'c,d\\'] });
  expect(await service.db.read(statement, values)).toEqual([{ city: 'Lima', tags: ['a "b"', '', 'c,d\\'] }]);
});

test('the next updatedAt is later than the last, even of a row from the future', async () => {
  const statement = unprepared(
    'row_test.next',
    (_: Params<Record<never, never>>) => sql<{ from: string; ms: string }>`
      select start as "from",
        case when start = 'past' then (${nextUpdatedAt(customers.updatedAt)} = now())::text
          else extract(milliseconds from ${nextUpdatedAt(customers.updatedAt)} - updated_at)::float8::text end as ms
      from (values ('past', now() - interval '1 hour'), ('now', now()), ('future', now() + interval '1 day'))
        as customers (start, updated_at)`,
  );
  const rows = await service.db.read(statement, {});
  expect(rows).toEqual([
    { from: 'past', ms: 'true' },
    { from: 'now', ms: '1' },
    { from: 'future', ms: '1' },
  ]);
});
