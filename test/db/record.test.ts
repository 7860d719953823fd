import { type SQL, sql } from 'drizzle-orm';
import { describe, expect, test } from 'vitest';
import {
  columnList,
  columnsFrom,
  nextUpdatedAt,
  recordFrom,
  recordsFrom,
  toNewRecord,
  toRecord,
} from '../../src/db/record.ts';
import { customers } from '../../src/db/schema/index.ts';
import { type Params, unprepared } from '../../src/db/statement.ts';
import { useService } from '../support/service.ts';

const service = useService();

const columns = { firstName: customers.firstName, city: customers.city, tags: customers.tags };

let made = 0;
function textOf(query: SQL): string {
  made += 1;
  return unprepared(`record_test.text_${made}`, (_: Params<{ rows: string }>) => query).text;
}

describe('toRecord', () => {
  test('puts the fields under the names of their columns, and leaves out what is absent', () => {
    expect(toRecord(columns, { firstName: 'Ana', city: undefined })).toEqual({ first_name: 'Ana' });
    expect(toRecord(columns, {})).toEqual({});
  });

  test('keeps null, but for a list, which null empties', () => {
    expect(toRecord(columns, { firstName: null, tags: null })).toEqual({ first_name: null, tags: [] });
  });

  test('drops no field without a word: one without a column does not compile', () => {
    // @ts-expect-error no column has this name
    expect(toRecord(columns, { nickname: 'Anita' })).toEqual({});
  });
});

describe('toNewRecord', () => {
  test('empties the lists that are absent, and keeps those that are there', () => {
    expect(toNewRecord(columns, { city: 'Lima' })).toEqual({ city: 'Lima', tags: [] });
    expect(toNewRecord(columns, { tags: ['vip'] })).toEqual({ tags: ['vip'] });
    expect(toNewRecord(columns, { tags: null })).toEqual({ tags: [] });
  });
});

test('the names of columns stand alone, or with the relation that they come from', () => {
  expect(textOf(columnList(columns))).toBe('"first_name", "city", "tags"');
  expect(textOf(columnsFrom('(stored.record)', columns))).toBe(
    '(stored.record)."first_name", (stored.record)."city", (stored.record)."tags"',
  );
});

test('rows made of JSON have the types of the table, and null where the JSON has nothing', async () => {
  const rows = unprepared(
    'record_test.rows',
    ($: Params<{ rows: string }>) => sql<{ city: string | null; tags: string[] | null; at: Date | null }>`
      select city, tags, archived_at as at from ${recordsFrom(customers, $.rows)}`,
  );
  const [full, none] = await service.db.read(rows, {
    rows: JSON.stringify([{ city: 'Lima', tags: ['a "b"', ''], archived_at: '2026-11-21T10:00:00.5Z' }, {}]),
  });
  expect(full).toEqual({ city: 'Lima', tags: ['a "b"', ''], at: new Date('2026-11-21T10:00:00.500Z') });
  expect(none).toEqual({ city: null, tags: null, at: null });

  const one = unprepared(
    'record_test.row',
    ($: Params<{ row: string }>) => sql<{ city: string }>`select city from ${recordFrom(customers, $.row)}`,
  );
  expect(await service.db.read(one, { row: '{"city":"Quito"}' })).toEqual([{ city: 'Quito' }]);
});

test('the next updatedAt is later than the last, even of a row from the future', async () => {
  const statement = unprepared(
    'record_test.next',
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
