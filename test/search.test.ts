import { describe, expect, test } from 'vitest';
import { useService } from './support/service.ts';

const service = useService();

/** Whether a query finds a product with this title, and that it finds nothing else. */
async function finds(title: string, query: string): Promise<boolean> {
  const own = await service.agency();
  const { body } = await own.post('/v1/catalog/products', { title });
  const found = await own.get(`/v1/catalog/products?query=${encodeURIComponent(query)}`);
  expect(found.status).toBe(200);
  expect(found.body.pagination.total).toBe(found.body.data.length);
  if (found.body.data.length > 0) expect(found.body.data).toEqual([body]);
  return found.body.data.length > 0;
}

const isFound = async (title: string, query: string, expected: boolean): Promise<void> => {
  expect(await finds(title, query)).toBe(expected);
};

describe('query folds case and accents on both sides', () => {
  test.each([
    ['Bogotá', 'bogota', true],
    ['Bogotá', 'BOGOTÁ', true],
    ['bogota', 'Bogotá', true],
    ['Bogota\u0301', 'bogotá', true],
    ['Bogotá', 'Bogota\u0301', true],
    ['Bogotá', 'gota', true],
    ['São Paulo', 'sao paulo', true],
    ['SÃO PAULO', 'são', true],
    ['Ñandú', 'nandu', true],
    ['Pingüino', 'PINGUINO', true],
    ['Peña', 'PEÑA', true],
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
    ['Bogotá', 'bogota x', false],
    ['Bogotá', 'atogob', false],
    ['東京', '京東', false],
  ])('%j found by %j: %s', isFound);
});

describe('query is plain text: no character is a wildcard', () => {
  test.each([
    ['100% playa', '0% p', true],
    ['100 playa', '0% p', false],
    ['100% playa', '%', true],
    ['100 playa', '%', false],
    ['a_b', 'a_b', true],
    ['axb', 'a_b', false],
    ['a\\b', 'a\\b', true],
    ['ab', 'a\\b', false],
    ['ab', '\\', false],
    ['a\\%b', '\\%', true],
    ['a%b', '\\%', false],
    ['100％', '100%', true],
    ['100x', '100％', false],
    ['a＿b', 'a_b', true],
    ["d'Ivoire", "d'i", true],
    ['a*b', 'a*', true],
    ['ab', 'a*', false],
    ['a.b', 'a.', true],
    ['axb', 'a.', false],
    ['[ab]', '[ab]', true],
    ['a', '[ab]', false],
    ['"x"', '"', true],
    ['$1', '$1', true],
    ['a:*', ':*', true],
    ['<b>', '<b>', true],
  ])('%j found by %j: %s', isFound);
});

describe('query is not trimmed: spaces are characters', () => {
  test.each([
    ['Mar y sol', 'mar y', true],
    ['Mar y sol', 'mary', false],
    ['Mar  y', 'mar y', false],
    ['Mar  y', 'mar  y', true],
    ['Mar', ' mar', false],
    ['El Mar', ' mar', true],
    ['Mar', 'mar ', false],
    ['Mar y', ' ', true],
    ['Mar', ' ', false],
    ['a\tb', 'a\tb', true],
    ['a\nb', 'a\nb', true],
    ['a\tb', 'a b', false],
  ])('%j found by %j: %s', isFound);
});

test.each([1, 2, 3, 4, 50, 200])('a query of %d characters finds', async (length) => {
  const title = 'Patagonia '.repeat(25);
  expect(
    await finds(
      title,
      title
        .slice(3, 3 + length)
        .padEnd(length, 'x')
        .slice(0, length),
    ),
  ).toBe(true);
});

describe('query on customers', () => {
  const contact = (identifierType: string, identifierValue: string) => ({ identifierType, identifierValue });
  let names = 0;
  const found = async (customer: object, query: string): Promise<number> => {
    const own = await service.agency();
    names += 1;
    await own.post('/v1/customers', { contacts: [contact('web', `zz${names}`)], ...customer });
    const { body } = await own.get(`/v1/customers?query=${encodeURIComponent(query)}`);
    expect(body.data).toHaveLength(body.pagination.total);
    return body.pagination.total;
  };

  test.each([
    [{ firstName: 'Ana', lastName: 'Peña' }, 'ana pena', 1],
    [{ firstName: 'Ana', lastName: 'Peña' }, 'a p', 1],
    [{ firstName: 'Ana', lastName: 'Peña' }, 'anapena', 0],
    [{ firstName: 'Ana', lastName: 'Peña' }, 'pena ana', 0],
    [{ firstName: 'Ana' }, 'ana ', 0],
    [{ lastName: 'Peña' }, ' pena', 0],
    [{ firstName: '', lastName: 'Peña' }, 'peña', 1],
    [{ firstName: 'Ana', summary: 'Peña' }, 'ana pena', 0],
    [{ summary: 'Prefiere la playa' }, 'FIERE LA', 1],
  ])('of %j by %j: %d', async (customer, query, expected) => {
    expect(await found(customer, query)).toBe(expected);
  });

  const NUMBER = '+52 1 (55) 1234-5678';
  test.each([
    ['as it was sent', '+52 1 (55) 1234-5678'],
    ['a part as it was sent', '(55) 1234'],
    ['in E.164', '+5215512345678'],
    ['digits alone', '5215512345678'],
    ['the last digits', '12345678'],
    ['digits across the punctuation', '5512345678'],
    ['the contact key', '+525512345678'],
    ['digits of the contact key', '525512345678'],
  ])('finds a telephone number by %s', async (_name, query) => {
    expect(await found({ contacts: [contact('whatsapp', NUMBER)] }, query)).toBe(1);
  });

  test('finds no number by digits that it has not', async () => {
    expect(await found({ contacts: [contact('whatsapp', NUMBER)] }, '87654321')).toBe(0);
  });

  test.each([
    ['instagram', '@Ana.Viaja', '@ana.viaja'],
    ['instagram', '@Ana.Viaja', 'ana.viaja'],
    ['email', ' Ana@Example.com ', 'ana@example.com'],
    ['email', 'ñandú@correo.es', 'nandu@'],
    ['messenger', '1234567890', '4567'],
    ['web', 'Visitor-1', 'VISITOR-1'],
    ['whatsapp', 'MX.13491208655302741918', 'mx.1349'],
  ])('finds the %s contact %j by %j', async (type, value, query) => {
    expect(await found({ contacts: [contact('web', 'first'), contact(type, value)] }, query)).toBe(1);
  });

  test('does not match across two contacts', async () => {
    expect(await found({ contacts: [contact('web', 'abc'), contact('web', 'def')] }, 'abcdef')).toBe(0);
    expect(await found({ contacts: [contact('web', 'abc'), contact('web', 'def')] }, 'cd')).toBe(0);
  });
});
