import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  contactKey,
  type IdentifierType,
  identifierRule,
  phoneNumber,
  searchText,
} from '../../rules/contact-key.ts';

const TYPES: IdentifierType[] = ['whatsapp', 'instagram', 'messenger', 'email', 'telefono', 'web'];
const TELEPHONES: IdentifierType[] = ['whatsapp', 'telefono'];

test.each(TYPES)('no text is no contact of %s', (type) => {
  expect(contactKey(type, '')).toBeNull();
});

describe.each(TELEPHONES)('%s numbers', (type) => {
  test.each([
    ['+5215512345678', '+525512345678', '+5215512345678'],
    ['+52 1 (55) 1234-5678', '+525512345678', '+5215512345678'],
    ['+525512345678', '+525512345678', '+525512345678'],
    ['0052 55 1234 5678', '+525512345678', '+525512345678'],
    ['525512345678', '+525512345678', '+525512345678'],
    ['+52.55.1234.5678', '+525512345678', '+525512345678'],
    ['\u00a0+52\u00a055\u20091234\u20135678 ', '+525512345678', '+525512345678'],
    ['+5491123456789', '+541123456789', '+5491123456789'],
    ['+541123456789', '+541123456789', '+541123456789'],
    ['+5511987654321', '+551187654321', '+5511987654321'],
    ['+551187654321', '+551187654321', '+551187654321'],
    ['+551134567890', '+551134567890', '+551134567890'],
    ['+14155550100', '+14155550100', '+14155550100'],
    ['14155550100', '+14155550100', '+14155550100'],
    ['1 (415) 555-0100', '+14155550100', '+14155550100'],
    ['34612345678', '+34612345678', '+34612345678'],
    ['573001234567', '+573001234567', '+573001234567'],
    ['51987654321', '+51987654321', '+51987654321'],
    ['999999999999', '+999999999999', '+999999999999'],
    ['+1234567', '+1234567', '+1234567'],
    // Without the 00 it would be no number at all.
    ['001234567', '+1234567', '+1234567'],
    ['+123456789012345', '+123456789012345', '+123456789012345'],
  ])('%s is the contact %s with the number %s', (value, key, number) => {
    expect(contactKey(type, value)).toBe(key);
    expect(phoneNumber(type, value)).toBe(number);
  });

  // Of Mexico, Argentina and Brazil only whole numbers fold: one digit more or less is another number.
  test.each([
    '+52155123456789',
    '+521551234567',
    '+54911234567890',
    '+54911234567',
    '+55119876543210',
    '+521',
  ])('digits that only begin like a country variant keep theirs: %s', (value) => {
    expect(contactKey(type, value)).toBe(phoneNumber(type, value));
  });

  test.each([
    '',
    ' ',
    '+',
    '00',
    '1234567',
    '12345678',
    '5598765432',
    '55 9876-5432',
    '1123456789',
    '11987654321',
    '5512345678',
    '99999999999',
    '012345678901',
    '1234567890123456',
    '+1234567890123456',
    '+123456',
    '+0123456789',
    '0123456789',
    '+52 55 1234 5678 ext 9',
    '+52/5512345678',
    '52+5512345678',
    '++525512345678',
    'ana@example.com',
    '٠١٢٣٤٥٦٧٨٩',
    '５５１２３４５６７８',
    '+5255\u00001234567',
  ])('%j is no telephone number', (value) => {
    expect(contactKey(type, value)).toBeNull();
    expect(phoneNumber(type, value)).toBeNull();
  });

  test('punctuation, however it is strewn about, makes no other contact', () => {
    const number = fc
      .tuple(fc.integer({ min: 1, max: 9 }), fc.stringMatching(/^\d{6,14}$/))
      .map(([a, b]) => `${a}${b}`);
    const punctuation = fc.constantFrom('', ' ', '-', '.', '(', ')', '\u00a0', '\u2013', '[', ']');
    fc.assert(
      fc.property(number, fc.array(punctuation, { minLength: 20, maxLength: 20 }), (digits, noise) => {
        const written = `+${[...digits].map((digit, index) => digit + noise[index]).join('')}`;
        expect(contactKey(type, written)).toBe(contactKey(type, `+${digits}`));
        expect(phoneNumber(type, written)).toBe(`+${digits}`);
      }),
    );
  });

  test('a key is a number, and its own key', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^(\+|00)?[ \d-]{6,18}$/), (value) => {
        const key = contactKey(type, value);
        if (key === null) return;
        expect(key).toMatch(/^\+[1-9]\d{6,14}$/);
        expect(contactKey(type, key)).toBe(key);
      }),
    );
  });
});

describe('the rule that a refused number is told', () => {
  test.each(['5598765432', '55 9876 5432', '11 2345-6789', '0123456789', '1234567'])(
    '%s has digits alone: it lacks its country code',
    (value) => {
      for (const type of TELEPHONES) {
        expect(contactKey(type, value)).toBeNull();
        expect(identifierRule(type, value)).toBe('must start with + and the country code');
      }
    },
  );

  test.each(['+1234', 'ana', '012345678901', '55 1234 5678 ext 9'])('%s is none at all', (value) => {
    for (const type of TELEPHONES) expect(identifierRule(type, value)).toMatch(/^must be a telephone number/);
  });
});

describe('business-scoped user ids', () => {
  test.each(['MX.13491208655302741918', 'US.ENT.11815799212886844830', 'BR.a', `BR.${'Z9'.repeat(64)}`])(
    'whatsapp takes %s as it is, without a number',
    (value) => {
      expect(contactKey('whatsapp', value)).toBe(value);
      expect(phoneNumber('whatsapp', value)).toBeNull();
    },
  );

  test.each([
    'MX.',
    'mx.123',
    'MEX.123',
    'MX.12 34',
    ' MX.123',
    'MX.ENT.',
    'MX.ABC.1',
    `BR.${'9'.repeat(129)}`,
  ])('whatsapp refuses %j', (value) => {
    expect(contactKey('whatsapp', value)).toBeNull();
  });

  test('telefono takes none', () => {
    expect(contactKey('telefono', 'MX.13491208655302741918')).toBeNull();
  });
});

describe('email', () => {
  test.each([
    ['Ana@Example.COM', 'ana@example.com'],
    ['  ana@example.com\n', 'ana@example.com'],
    ['ÑANDU@correo.es', 'ñandu@correo.es'],
    ["o'hara+viajes@correo.mx", "o'hara+viajes@correo.mx"],
  ])('%j is the contact %s', (value, key) => {
    expect(contactKey('email', value)).toBe(key);
  });

  test.each([
    '',
    'ana',
    '@',
    'ana@',
    '@example.com',
    'ana@b@c',
    ' @ ',
    'ana@ ',
    'a b@c',
    'ana@exam\u00a0ple.com',
    'ana@example.com, luis@example',
    'Ana <ana@example.com>',
    '<ana@example.com>',
    'mailto:ana@example.com',
    ' MailTo:ana@example.com',
  ])('%j is no address', (value) => {
    expect(contactKey('email', value)).toBeNull();
  });
});

describe('instagram', () => {
  test.each([
    ['@Ana.Viaja', 'ana.viaja'],
    ['ana.viaja', 'ana.viaja'],
    [' @ANA ', 'ana'],
    ['ana@viaja', 'ana@viaja'],
  ])('%j is the contact %s', (value, key) => {
    expect(contactKey('instagram', value)).toBe(key);
  });

  test.each(['@', ' ', ' @ '])('%j is no handle', (value) => {
    expect(contactKey('instagram', value)).toBeNull();
  });
});

describe.each<IdentifierType>(['messenger', 'web'])('%s', (type) => {
  test('every text is the contact as it was sent', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', minLength: 1 }), (value) => {
        expect(contactKey(type, value)).toBe(value);
      }),
    );
  });
});

test('only telephone types have a number', () => {
  for (const type of TYPES) {
    expect(phoneNumber(type, '+525512345678')).toBe(TELEPHONES.includes(type) ? '+525512345678' : null);
  }
});

test('no text of any kind breaks the rules of a type, and case never tells two addresses or handles apart', () => {
  const type = fc.constantFrom(...TYPES);
  fc.assert(
    fc.property(type, fc.string({ unit: 'binary', maxLength: 40 }), (of, value) => {
      const key = contactKey(of, value);
      expect(key === null || typeof key === 'string').toBe(true);
      if (of === 'email' || of === 'instagram') {
        expect(contactKey(of, value.toLowerCase())).toBe(key);
        expect(contactKey(of, `  ${value}\t`)).toBe(key);
      }
    }),
  );
});

test('a search finds the value as sent, its key, and its number', () => {
  const contact = { identifierValue: '+52 1 55-1234', contactKey: '+52551234', phoneNumber: '+521551234' };
  expect(searchText(contact).split('\u001f')).toEqual(['+52 1 55-1234', '+52551234', '+521551234']);
  expect(
    searchText({ identifierValue: '@Ana', contactKey: 'ana', phoneNumber: null }).split('\u001f'),
  ).toEqual(['@Ana', 'ana']);
});
