import { globSync, readFileSync } from 'node:fs';
import { describe, expect, onTestFinished, test } from 'vitest';
import { damageOf, fromCell } from '../../crm/src/cells.ts';
import { contactsIn, folded } from '../../crm/src/fields.ts';
import { contactKey, IDENTIFIER_TYPES } from '../../rules/contact-key.ts';
import { generateKey } from '../../src/api-keys/api-key.ts';
import { openKeyCache } from '../../src/api-keys/cache.ts';
import { UUID } from '../../src/contract/fields.ts';
import { newId, type Queries, scopeTo } from '../../src/db/index.ts';
import { createSlots } from '../../src/db/pool/slots.ts';
import { unknownName } from '../../src/http/ignored-parameters.ts';
import { createLogger } from '../../src/http/logging.ts';
import { checkOrganization } from '../../src/organizations/repository.ts';
import { bodyOf, DOCUMENTED, SCHEMAS, type Schema } from '../support/contract.ts';
import { useDashboard } from '../support/dashboard.ts';
import { populate, requestOf, send } from '../support/operations.ts';
import { type Kinds, LEAST, madeOf } from '../support/values.ts';

/**
 * Whatever reads a text from outside takes linear time. 64 KiB of what it is worst at take milliseconds, and several seconds in
 * quadratic time: half a second of processor time tells them apart on any machine.
 */

const { service, dashboard } = await useDashboard({}, { mcp: 'write' });
const world = { service, dashboard, agency: await service.agency() };
const has = await populate(world);

const MOST_MS = 500;
const SIZE = 64 * 1024;

/** Combining marks of two classes in turn, which normalization sorts in quadratic time. */
const MARKS = '\u0301\u0323';
const WORST = [MARKS, ' ', 'a', '\ud800"\\'];

const repeated = (unit: string, bytes = SIZE): string => unit.repeat(bytes / Buffer.byteLength(unit));

/** The least of several attempts: the first one may compile code. */
async function expectQuick(what: string, work: () => unknown): Promise<void> {
  let least = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < 5 && least >= MOST_MS; attempt += 1) {
    const start = process.threadCpuUsage();
    await work();
    least = Math.min(least, process.threadCpuUsage(start).user / 1_000);
  }
  expect(least, `milliseconds of ${what}`).toBeLessThan(MOST_MS);
}

describe('in the sources', () => {
  const paths = globSync('{src,rules,crm/src}/**/*.{ts,js}');
  const sources = paths.map((path) => ({ path, source: readFileSync(path, 'utf8') }));
  const foundBy = (form: RegExp) =>
    sources.flatMap(({ path, source }) =>
      [...source.matchAll(form)].map(([all, part]) => ({ path, all, part })),
    );

  const LITERAL =
    /(?<=[(,=:[?&|!;]\s{0,20}|=>\s{0,20}|return )\/(?![/*])(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[dgimsuvy]*/g;
  const literals = [...new Set(foundBy(LITERAL).map(({ all }) => all))];
  const composed: Record<string, RegExp> = {
    '`^${UUID}$`': new RegExp(`^${UUID}$`),
    '`^\\\\s*${UUID}\\\\s*$`': new RegExp(`^\\s*${UUID}\\s*$`),
    '`^(${UUID})/(${UUID})(\\\\.${UUID}\\\\.partial)?$`': new RegExp(
      `^(${UUID})/(${UUID})(\\.${UUID}\\.partial)?$`,
    ),
    "`[\\\\p{M}\\\\uFF9E\\\\uFF9F]{1,${MAX_MARKS + 1}}`, 'gu'": /[\p{M}\uFF9E\uFF9F]{1,31}/u,
  };

  /** Regular expressions of more than linear time, by their start: the longest text that each sees, and what it is. */
  const BOUNDED: readonly [start: string, characters: number, text: string][] = [
    ['/^\\d+[.)] ?|\\(.*\\)', 255, 'the name of a column'],
    ['/^([a-z]{2})[-_]\\w+$|\\s*\\(.*\\)$/i', 255, 'a code in a cell'],
    ['/^\\p{L}[\\p{L} .]*:\\s*(?=[+\\d(]', 640, 'a contact in a cell'],
    ['/[. ]+$/', 100, 'the name of a file'],
    ['/\\B(?=(\\d{3})+$)/g', 21, 'a number of ours'],
    ['/\\/+$/', 2_000, 'PUBLIC_URL'],
    ['/terminated|not queryable|', 2_000, 'a message of the driver'],
  ];

  function expressionOf(literal: string): RegExp {
    const end = literal.lastIndexOf('/');
    return new RegExp(literal.slice(1, end), `${literal.slice(end + 1).replace(/[gy]/g, '')}g`);
  }

  const UNITS = [' ', '\t', '\n', 'a', 'a ', '0', '0 ', '-', '.', '@', 'a@', '"', "'", '😀', '\u0301'];
  const AROUND = [
    ['', '\u0001'],
    ['0', ''],
    ['a', ' x'],
  ] as const;

  test('each regular expression takes linear time, or reads bounded texts', async () => {
    expect(literals.length).toBeGreaterThan(100);
    expect(BOUNDED.filter(([start]) => !literals.some((literal) => literal.startsWith(start)))).toEqual([]);
    const named = literals.map((literal) => [literal, expressionOf(literal)] as const);
    for (const [literal, expression] of [...named, ...Object.entries(composed)]) {
      const [, size = SIZE] = BOUNDED.find(([start]) => literal.startsWith(start)) ?? [];
      const own = literal.replaceAll(/\\p\{\w+\}|\\[a-z]/g, ' ').match(/[A-Za-z]{3,}|[^\\\w]/g) ?? [];
      for (const unit of new Set([...own, ...UNITS]))
        for (const [before, after] of AROUND) {
          const text = `${before}${unit.repeat(size / unit.length)}${after}`;
          await expectQuick(`${literal} on ${JSON.stringify(before + unit)}`, () =>
            text.replace(expression, ''),
          );
        }
    }
  });

  test('each regular expression that is composed is known', () => {
    const made = foundBy(/new RegExp\((.+?)\)[.,;]/g).map(({ part }) => part);
    expect(new Set(made)).toEqual(new Set(Object.keys(composed)));
  });

  const reading = { mark: '.', country: 'PE' } as const;
  test.each<[string, (text: string) => unknown]>([
    ...IDENTIFIER_TYPES.map((type): [string, (text: string) => unknown] => [
      `contacts of ${type} in a cell`,
      (text) => contactsIn(type, text, reading),
    ]),
    ['a name that is near', (text) => unknownName(text, text, Array(40).fill('x'.repeat(100)))],
    ['the name of a column', folded],
    ['a cell', (text) => [fromCell(text), damageOf(text)]],
  ])('%s: any text takes little time', async (_what, read) => {
    for (const unit of [...WORST, '1', '+', '@', 'a@', '<a@', "'", '(', 'a.', '0 '])
      await expectQuick(JSON.stringify(unit), () => read(repeated(unit)));
  });
});

/** A value with the text wherever a text is allowed, and valid otherwise, so that whatever reads the text is reached. */
const valueWith = (text: string): Kinds<unknown> => ({ ...LEAST, string: () => text });

/** With each of the worst texts, near the limit of a body. */
const filled = (schema: Schema): object[] => {
  const count = JSON.stringify(madeOf(valueWith('TEXT'), schema)).split('"TEXT"').length;
  return WORST.map((unit) => Object(madeOf(valueWith(repeated(unit, 240_000 / count)), schema)));
};

describe('a long text is answered in little time', () => {
  test('in any field of a body', async () => {
    const bodies = new Map(DOCUMENTED.map(({ name, operation }) => [bodyOf(operation), name]));
    for (const [schema = '', name] of bodies) {
      if (schema === '') continue;
      const { method, path } = await requestOf(name, has);
      for (const body of filled(SCHEMAS[schema] ?? {}))
        await expectQuick(name, () => send(world, { method, path, body }));
    }
  });

  test('in any parameter or header', async () => {
    const ids: Record<string, unknown> = has;
    const parameters = new Map(
      DOCUMENTED.flatMap(({ method, path, operation: { parameters = [] } }) =>
        parameters.map((of) => [`${path.slice(0, 4)} ${of.in} ${of.name}`, { ...of, method, path }] as const),
      ),
    );
    for (const [what, { name, in: place, method, path }] of parameters)
      for (const unit of place === 'header' ? [' ', 'a', '"', ',', 'W/"'] : [MARKS, ' ', 'a', '"', ',']) {
        // Node accepts 8 KiB.
        const text = repeated(place === 'header' ? unit : encodeURIComponent(unit), 7_000);
        const target = path.replace(/\{(\w+)\}/g, (_, id) => (id === name ? text : String(ids[id])));
        const sent = { method, path: place === 'query' ? `${target}?${name}=${text}` : target };
        const headers: Record<string, string> = place === 'header' ? { [name]: text } : {};
        await expectQuick(`${what} ${unit}`, () => send(world, sent, headers));
      }
  });

  test('in any argument of a tool', async () => {
    const call = (method: string, params: object) =>
      world.agency.post('/mcp', { jsonrpc: '2.0', id: 1, method, params });
    const { tools } = (await call('tools/list', {})).body.result;
    expect(tools.length).toBeGreaterThan(15);
    for (const { name, inputSchema } of tools)
      for (const given of filled(inputSchema))
        await expectQuick(name, () => call('tools/call', { name, arguments: given }));
  });
});

/** Returns a key that lives, and an open organization. */
const rows = async () => [{ lifetime: 60_000, isUsageDue: false, isClosed: false }];
const db = { read: rows, write: rows } as unknown as Queries;
const keys = openKeyCache({ db, logger: createLogger('silent') });
const slots = createSlots({ slots: 2, places: 2 });

test.each<[what: string, most: number, see: (count: number) => unknown]>([
  ['API keys', 10_000, () => keys.find(generateKey())],
  ['organizations', 1_000, () => checkOrganization(scopeTo({ for: () => db }, newId()), true)],
  ['organizations with slots', 1, async () => (await slots.enter(newId(), 'read'))()],
  ['telephone numbers', 100, (count) => contactKey('whatsapp', `+52551${1_000_000 + count}`)],
])('of all %s that the service has seen, it remembers at most %i', async (_what, most, see) => {
  const { set } = Map.prototype;
  onTestFinished(() => void Object.assign(Map.prototype, { set }));
  let largest = 0;
  Map.prototype.set = function remember(...entry) {
    const map = set.apply(this, entry) as typeof this;
    largest = Math.max(largest, map.size);
    return map;
  };
  for (let count = 0; count < most + 50; count += 1) await see(count);
  expect(largest).toBe(most);
});
