import { describe, expect, test } from 'vitest';
import { DOCUMENTED, operationOf, SCHEMAS } from '../support/contract.ts';
import { useDashboard } from '../support/dashboard.ts';
import {
  BELOW,
  DASHBOARD_LISTS,
  FILE,
  FINDING,
  filterValues,
  LISTS,
  type List,
  methodOf,
  OPERATIONS,
  pathOf,
  REFERENCES,
  readList,
  setsOf,
  type World,
  WRITTEN_ONCE,
} from '../support/operations.ts';
import { conversation, message } from '../support/records.ts';
import { routesOf } from '../support/router.ts';
import { type Kinds, madeOf } from '../support/values.ts';

/**
 * The tables of test/support/operations.ts match the routers and the documents; every filter and every searched field of
 * every list finds what its document promises, and nothing else.
 */

const { service, dashboard } = await useDashboard();
const world = async (): Promise<World> => ({ service, dashboard, agency: await service.agency() });

const lists = { ...DASHBOARD_LISTS, ...LISTS };

const inQuery = (name: string) =>
  (operationOf(name.split('?')[0] ?? '').parameters ?? []).filter(
    (parameter) => parameter.in === 'query' && !parameter.required,
  );
const inIt = (name: string, part: string): string => `${name} has what \`${part}\` in LISTED of ${FILE} says`;

describe('the documents and the tables of the walks have', () => {
  test('every operation of both routers, and no other', () => {
    const routes = [...routesOf(service.app), ...routesOf(dashboard.app)].filter(
      (route) => pathOf(route).includes('/v1') && methodOf(route) !== 'HEAD',
    );
    expect(DOCUMENTED.map(({ name }) => name).sort()).toEqual(routes.sort());
    expect(Object.keys(OPERATIONS).sort(), `SPECIAL_REQUESTS of ${FILE}`).toEqual(routes);
    const paged = Object.keys(OPERATIONS).filter(
      (name) => name.startsWith('GET /v1') && inQuery(name).some((parameter) => parameter.name === 'offset'),
    );
    expect(Object.keys(LISTS).sort(), `LISTED of ${FILE}`).toEqual(paged.sort());
  });

  test.each(Object.entries(lists))(
    'every filter of %s, and the fields that its `query` searches',
    (name, list) => {
      const others = ['limit', 'offset', 'query', 'archived', ...FINDING];
      const filters = inQuery(name)
        .filter((parameter) => parameter.schema.format !== 'date-time' && !others.includes(parameter.name))
        .map((parameter) => parameter.name);
      expect(Object.keys(list.filters).sort(), inIt(name, 'filters')).toEqual(filters.sort());
      const words = [...new Set(Object.values(list.searched))];
      const promised = `Text in the ${[words.slice(0, -1).join(', '), words.at(-1)].filter(Boolean).join(' or ')}, ignoring case and accents.`;
      const query = inQuery(name).find((each) => each.name === 'query');
      expect(query?.description, inIt(name, 'searched')).toBe(words.length === 0 ? undefined : promised);
    },
  );
});

const idsOf = (data: { id: string }[]): string[] => data.map(({ id }) => id).sort();
const filtered = Object.entries(lists).filter(
  ([, list]) => 'record' in list || Object.keys({ ...list.filters, ...list.searched }).length > 0,
);

describe.each(filtered)('the filters of %s', async (name, list) => {
  const here = await world();
  const filters = await filterValues(here.agency, list);
  const [text] = Object.keys(list.searched);
  if (text !== undefined)
    filters.push({ name: 'query', field: text, written: ['Patagonia', 'Quito'], sent: 'patagonia' });
  const same = Object.fromEntries(filters.map(({ field, written }) => [field, written[0]]));
  /** Ids: of a record that every filter finds, and for each filter of a record that differs in its field alone. */
  const ids = new Map<string, string>();
  for (const { name: differs, field, written } of [{ name: '', field: '', written: [] }, ...filters]) {
    const { id } = await list.make(here.agency, { ...same, ...(field && { [field]: written[1] }) });
    ids.set(differs, id);
  }

  const ask = async (query: Record<string, string>) => {
    const { body } = await readList(here, name, String(new URLSearchParams(query)));
    return { ids: idsOf(body.data), total: body.pagination.total as number };
  };

  test('find and count the records with the values that are sent, alone and together', async () => {
    for (const sent of setsOf(filters)) {
      const names = sent.map((filter) => filter.name);
      const expected = [...ids].filter(([differs]) => !names.includes(differs)).map(([, id]) => id);
      const query = Object.fromEntries(sent.map((filter) => [filter.name, filter.sent]));
      const found = { ids: expected.sort(), total: expected.length };
      expect(await ask(query), `${name} by ${names.join(' and ')}`).toEqual(found);
      const later = await ask({ ...query, offset: '1' });
      expect([later.ids.length, later.total]).toEqual([expected.length - 1, expected.length]);
      expect(await ask({ ...query, offset: '99' })).toEqual({ ids: [], total: expected.length });
    }
  });

  const archive = 'record' in list ? (list as List).record.archive : undefined;
  test.runIf(archive)('neither find nor count archived records', async () => {
    const queries = [{}, ...filters.map((filter) => ({ [filter.name]: filter.sent }))];
    const findAll = () => Promise.all(queries.map(ask));
    const before = await findAll();
    const { id } = await list.make(here.agency, same);
    for (const found of await findAll()) expect(found.ids).toContain(id);
    await archive?.(here.agency.scope, id);
    expect(await findAll()).toEqual(before);
  });

  test('find several ids, separated by commas, and `null` for none', async () => {
    for (const { name: filter, sent, written } of filters.filter(({ name }) => name in REFERENCES)) {
      const find = (value: string) => ask({ [filter]: value });
      const [one, other] = [await find(sent), await find(String(written[1]))];
      const all = [...one.ids, ...other.ids].sort();
      const several = await find(`${written[1]}, ${sent.toUpperCase()},${sent}`);
      expect(several).toEqual({ ids: all, total: all.length });
      expect(await find(`x,${here.agency.id},${sent}`)).toEqual(one);
      // Among ids, `null` is text that is no id.
      expect(await find(`${written[1]},null`)).toEqual(other);
      const nobody = await list.make(here.agency, { ...same, [filter]: null }).catch(() => undefined);
      const none = nobody ? [nobody.id] : [];
      expect(await find('null')).toEqual({ ids: none, total: none.length });
      expect(await find('x')).toEqual({ ids: [], total: 0 });
      if (nobody) await list.make(here.agency, same, nobody.id);
      const tooMany = Array(101).fill(here.agency.id).join();
      await expect(find(tooMany)).rejects.toThrow('must have at most 100 ids');
    }
  });

  test('match whole values exactly', async () => {
    for (const filter of filters.filter((each) => each.name !== 'query')) {
      const { schema } = inQuery(name).find((each) => each.name === filter.name) ?? {};
      if (schema?.enum || schema?.format) continue;
      const find = (value: string) => ask({ [filter.name]: value });
      const { sent } = filter;
      const others =
        filter.name in REFERENCES
          ? [here.agency.id]
          : [sent.slice(1), sent.slice(0, -1), `${sent} `, `%${sent}`, sent.toLowerCase(), '%', `{${sent}}`];
      for (const value of others)
        expect(await find(value), `${filter.name}=${value}`).toEqual({ ids: [], total: 0 });
    }
  });
});

/** A value with the text wherever it is allowed; undefined where it is not. */
const withText = (text: string): Kinds<unknown> => ({
  own: (_schema, name) => (name === 'identifierType' ? 'web' : undefined),
  closed: () => undefined,
  boolean: () => undefined,
  integer: () => undefined,
  number: () => undefined,
  string: ({ format, maxLength }) =>
    format === undefined && maxLength !== 3 ? text.slice(0, Number(maxLength)) : undefined,
  array: (_schema, entry) => (entry === undefined ? undefined : [entry]),
  object: (_schema, fields) => fields,
});

const searched = Object.entries(LISTS).filter(([, list]) => Object.keys(list.searched).length > 0);

describe.each(searched)('`query` of %s', (name, list: List) => {
  const WORD = 'Zanahória';
  const { properties = {} } = SCHEMAS[list.written] ?? {};
  const texts = Object.entries(properties)
    .map(([field, of]) => [field, (text: string) => madeOf(withText(text), of, field)] as const)
    .filter(([field, write]) => !WRITTEN_ONCE.includes(field) && write(WORD) !== undefined);

  test('finds text in each field that the document names, and in no other field or record', async () => {
    const here = await world();
    const find = async (word: string): Promise<string[]> =>
      idsOf((await readList(here, name, `limit=100&query=${word}`)).body.data);
    expect(texts.map(([field]) => field)).toEqual(expect.arrayContaining(Object.keys(list.searched)));
    const made: Record<string, string> = {};
    for (const [field, write] of texts)
      made[field] = (await list.make(here.agency, { [field]: write(`La ${WORD} x`) })).id;
    const related: Record<string, string> = {};
    for (const [field, refer] of Object.entries(REFERENCES))
      if (field in properties) related[field] = (await refer(here.agency, WORD)).id;
    const { id } = await list.make(here.agency, related);
    if (list.make === conversation) await message(here.agency, id, { content: WORD, senderName: WORD });
    const fieldsOf = (ids: string[]) =>
      ids.map((id) => Object.keys(made).find((field) => made[field] === id) ?? 'another record').sort();
    const promised = Object.keys(list.searched).sort();
    const said = inIt(name, 'searched');
    expect(fieldsOf(await find('ZANAHORIA')), said).toEqual(promised);

    for (const [field, write] of texts)
      await list.make(here.agency, { [field]: write('Pepino') }, made[field]);
    expect(fieldsOf(await find('pepino')), said).toEqual(promised);
    expect(await find('zanahoria')).toEqual([]);
    if (!list.record.archive) return;
    for (const id of Object.values(made)) await list.record.archive(here.agency.scope, id);
    const trash = await readList(here, `${name.replace('/v1', BELOW)}?archived=true`, 'query=pepino');
    expect(fieldsOf(idsOf(trash.body.data)), said).toEqual(promised);
  });
});
