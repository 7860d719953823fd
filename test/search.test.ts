import { expect, test } from 'vitest';
import { useDashboard } from './support/dashboard.ts';
import { contact, product } from './support/records.ts';

const { service, dashboard } = useDashboard();

/** The query finds the product with this title, or nothing. */
async function expectFound(title: string, query: string, isFound: boolean): Promise<void> {
  const own = await service.agency();
  const made = await product(own, { title });
  const { body } = await own.get(`/v1/catalog/products?query=${encodeURIComponent(query)}`);
  expect(body.data).toEqual(isFound ? [made] : []);
  expect(body.pagination.total).toBe(isFound ? 1 : 0);
}

test.each([
  // Case and accents are ignored in the text and in the query.
  ['Bogotá', 'bogota', true],
  ['Bogota\u0301', 'bogotá', true],
  ['Bogotá', 'Bogota\u0301', true],
  ['Bogotá', 'gota', true],
  ['São Paulo', 'sao paulo', true],
  ['Pingüino', 'PINGUINO', true],
  ['Curaçao', 'curacao', true],
  ['Straße', 'STRASSE', true],
  ['Æthelred', 'aethelred', true],
  ['ﬁesta', 'fiesta', true],
  ['Ｔｏｋｙｏ', 'tokyo', true],
  ['Łódź', 'lodz', true],
  ['Ÿ', 'ÿ', true],
  ['Đà Nẵng', 'da nang', true],
  ['ΑΘΗΝΑ', 'αθηνα', true],
  ['Москва', 'МОСКВА', true],
  ['東京', '京', true],
  ['🌋 Volcán', '🌋 volcan', true],
  ['Bogotá', 'bogoto', false],
  ['Bogotá', 'atogob', false],
  ['東京', '京東', false],
  // No character is a wildcard.
  ['100% playa', '0% p', true],
  ['100 playa', '0% p', false],
  ['a_b', 'a_b', true],
  ['axb', 'a_b', false],
  ['a\\b', 'a\\b', true],
  ['ab', 'a\\b', false],
  ['a\\%b', '\\%', true],
  ['a%b', '\\%', false],
  ['100％', '100%', true],
  ['100x', '100％', false],
  ['a＿b', 'a_b', true],
  ["d'Ivoire", "d'i", true],
  ['ab', 'a*', false],
  ['axb', 'a.', false],
  ['a', '[ab]', false],
  ['a:*', ':*', true],
  // Repeated spaces are one space; leading and trailing spaces are ignored.
  ['Mar y sol', 'mary', false],
  ['Mar  y', 'mar y', true],
  ['Mar y', 'mar   y', true],
  ['Mar\u00a0 y', 'mar y', true],
  ['Mar', ' mar ', true],
  ['a\tb', 'a\tb', true],
  ['a\tb', 'a b', false],
])('the title %j is found by the query %j: %s', expectFound);

test.each([1, 2, 3, 4, 50, 200])('a query of %d characters finds a title that contains it', (length) => {
  const title = 'Patagonia '.repeat(25);
  return expectFound(title, title.slice(3, 3 + length), true);
});

test('a customer, active or archived, is found by its name, a date in its summary, and any part of one contact in any spelling', async () => {
  const own = await service.agency();
  const contacts = [
    contact('whatsapp', '+52 1 (55) 1234-5678'),
    contact('instagram', '@Ana.Viaja'),
    contact('email', ' Ñandú@Example.com '),
    contact('web', 'abc'),
    contact('web', 'def'),
  ];
  const sent = { firstName: 'Ana ', lastName: ' Gil', summary: 'Vuelve el 2027-01-15.', contacts };
  const { body } = await own.post('/v1/customers', sent);
  const totalOf = async (query: string): Promise<number> =>
    (await own.get(`/v1/customers?query=${encodeURIComponent(query)}`)).body.pagination.total;
  const numbers =
    '+52 1 (55) 1234-5678|+52.1.55.1234.5678|0052 1551234|(55) 1234|+5215512345678|5215512345678|12345678';
  const others = '525512345678|@ana.viaja|ana.viaja|nandu@ex|ABC|ana gil|2027-01-15';
  const queries = `${numbers}|${others}`.split('|');
  for (const query of queries) expect(await totalOf(query), query).toBe(1);
  for (const query of ['8765 4321', 'abcdef', 'cd']) expect(await totalOf(query), query).toBe(0);
  await own.delete(`/v1/customers/${body.id}`);
  for (const query of queries) {
    const path = `/customers?archived=true&query=${encodeURIComponent(query)}`;
    expect((await dashboard.of(own).get(path)).body.data, query).toHaveLength(1);
  }
});
