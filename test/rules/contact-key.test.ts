import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { contactKey, IDENTIFIER_TYPES, identifierRule, phoneNumber } from '../../rules/contact-key.ts';

const TELEPHONES = ['whatsapp', 'telefono'] as const;

test.each(IDENTIFIER_TYPES)('no text is no contact of %s, and only telephone types have a number', (type) => {
  expect(contactKey(type, '')).toBeNull();
  const isTelephone = TELEPHONES.some((each) => each === type);
  expect(phoneNumber(type, '+525512345678')).toBe(isTelephone ? '+525512345678' : null);
});

describe.each(TELEPHONES)('%s', (type) => {
  test.each<[value: string, key: string, number?: string]>([
    ['+5215512345678', '+525512345678', '+5215512345678'],
    ['+52 1 (55) 1234-5678', '+525512345678', '+5215512345678'],
    ['0052 55 1234 5678', '+525512345678'],
    ['525512345678', '+525512345678'],
    ['\u00a0+52\u00a055\u20091234\u20135678 ', '+525512345678'],
    ['+5491123456789', '+541123456789', '+5491123456789'],
    ['+541123456789', '+541123456789'],
    ['+5511987654321', '+551187654321', '+5511987654321'],
    ['+551134567890', '+551134567890'],
    ['14155550100', '+14155550100'],
    ['34612345678', '+34612345678'],
    ['51987654321', '+51987654321'],
    ['+1234567', '+1234567'],
    // Without the 00 it would be no number at all.
    ['001234567', '+1234567'],
    ['+123456789012345', '+123456789012345'],
    // Of Mexico, Argentina and Brazil only whole numbers fold: one digit more or less is another number.
    ['+52155123456789', '+52155123456789'],
    ['+521551234567', '+521551234567'],
    ['+54911234567890', '+54911234567890'],
    ['+54911234567', '+54911234567'],
    ['+55119876543210', '+55119876543210'],
  ])('%s is the contact %s', (value, key, number = key) => {
    expect([contactKey(type, value), phoneNumber(type, value)]).toEqual([key, number]);
  });

  const [NO_NUMBER, NO_COUNTRY] = [
    /^must be a telephone number/,
    /^must start with \+ and the country code$/,
  ];
  test.each([
    [' ', NO_NUMBER],
    ['+', NO_NUMBER],
    ['00', NO_NUMBER],
    ['1234567', NO_COUNTRY],
    ['12345678', NO_COUNTRY],
    ['55 9876-5432', NO_COUNTRY],
    ['1123456789', NO_COUNTRY],
    ['11987654321', NO_COUNTRY],
    ['99999999999', NO_COUNTRY],
    ['0123456789', NO_COUNTRY],
    ['012345678901', NO_NUMBER],
    ['+525512345678@lid', NO_NUMBER],
    ['525512345678 @c.us', NO_NUMBER],
    ['ana@s.whatsapp.net', NO_NUMBER],
    ['1234567890123456', NO_NUMBER],
    ['+1234567890123456', NO_NUMBER],
    ['+123456', NO_NUMBER],
    ['+0123456789', NO_NUMBER],
    ['+52 55 1234 5678 ext 9', NO_NUMBER],
    ['+52/5512345678', NO_NUMBER],
    ['52+5512345678', NO_NUMBER],
    ['++525512345678', NO_NUMBER],
    ['ana@example.com', NO_NUMBER],
    ['٠١٢٣٤٥٦٧٨٩', NO_NUMBER],
    ['５５１２３４５６７８', NO_NUMBER],
    ['+5255\u00001234567', NO_NUMBER],
  ])('%j is no telephone number', (value, rule) => {
    expect([contactKey(type, value), phoneNumber(type, value)]).toEqual([null, null]);
    expect(identifierRule(type, value)).toMatch(rule);
  });

  test('a key is a number, and its own key; punctuation, however it is strewn about, makes no other', () => {
    const number = fc.stringMatching(/^(\+|00)?[ \d]{6,18}$/);
    const punctuation = fc.constantFrom('', ' ', '-', '.', '(', ')', '\u00a0', '\u2013', '[', ']');
    fc.assert(
      fc.property(number, fc.array(punctuation, { minLength: 20, maxLength: 20 }), (value, noise) => {
        const written = [...value].map((character, index) => character + noise[index]).join('');
        const key = contactKey(type, value);
        expect([contactKey(type, written), phoneNumber(type, written)]).toEqual([
          key,
          phoneNumber(type, value),
        ]);
        if (key === null) return;
        expect(key).toMatch(/^\+[1-9]\d{6,14}$/);
        expect(contactKey(type, key)).toBe(key);
      }),
    );
  });
});

describe('what gateways of WhatsApp report', () => {
  test.each([
    ['5215512345678@s.whatsapp.net', '+525512345678', '+5215512345678'],
    ['5511987654321@c.us', '+551187654321', '+5511987654321'],
    ['34612345678@c.us', '+34612345678', '+34612345678'],
    ['154417159582282@lid', '154417159582282@lid', null],
    ['123456@lid', '123456@lid', null],
    [`${'9'.repeat(20)}@lid`, `${'9'.repeat(20)}@lid`, null],
  ])('%s is the contact %s of whatsapp alone', (value, key, number) => {
    expect([contactKey('whatsapp', value), phoneNumber('whatsapp', value)]).toEqual([key, number]);
    expect([contactKey('telefono', value), phoneNumber('telefono', value)]).toEqual([null, null]);
  });

  test.each([
    '12345@lid',
    `${'9'.repeat(21)}@lid`,
    '154417159582282@LID',
    ' 154417159582282@lid',
    '@lid',
    'ana@lid',
  ])('%j is no linked id', (value) => {
    expect([contactKey('whatsapp', value), phoneNumber('whatsapp', value)]).toEqual([null, null]);
  });

  test.each(['154417159582282', '154417159582282@s.whatsapp.net', '999999999999', '15441 715958 2282'])(
    'the digits %j are no possible number; of whatsapp the error says that a linked id ends in @lid',
    (value) => {
      for (const type of TELEPHONES)
        expect([contactKey(type, value), phoneNumber(type, value)]).toEqual([null, null]);
      expect(identifierRule('whatsapp', value)).toMatch(/must end in @lid$/);
      expect(identifierRule('telefono', value)).toMatch(/^must be a telephone number/);
    },
  );

  test('bare digits are the contact of the same digits with a +, or none; a linked id is its own key, and no number', () => {
    const digits = fc.stringMatching(/^[1-9]\d{5,14}$/);
    fc.assert(
      fc.property(digits, (value) => {
        const key = contactKey('whatsapp', value);
        expect([null, contactKey('whatsapp', `+${value}`)]).toContain(key);
        expect(contactKey('whatsapp', `${value}@c.us`)).toBe(key);
        expect([contactKey('whatsapp', `${value}@lid`), phoneNumber('whatsapp', `${value}@lid`)]).toEqual([
          `${value}@lid`,
          null,
        ]);
      }),
    );
  });
});

test.each(['MX.13491208655302741918', 'US.ENT.11815799212886844830', 'BR.a', `BR.${'Z9'.repeat(64)}`])(
  'whatsapp alone takes the business-scoped id %s as it is, without a number',
  (value) => {
    expect([contactKey('whatsapp', value), phoneNumber('whatsapp', value)]).toEqual([value, null]);
    expect(contactKey('telefono', value)).toBeNull();
  },
);

test.each([
  ['whatsapp', 'MX.', null],
  ['whatsapp', 'mx.123', null],
  ['whatsapp', 'MEX.123', null],
  ['whatsapp', 'MX.12 34', null],
  ['whatsapp', ' MX.123', null],
  ['whatsapp', 'MX.ENT.', null],
  ['whatsapp', 'MX.ABC.1', null],
  ['whatsapp', `BR.${'9'.repeat(129)}`, null],
  ['email', 'Ana@Example.COM', 'ana@example.com'],
  ['email', '  ana@example.com\n', 'ana@example.com'],
  ['email', 'ÑANDU@correo.es', 'ñandu@correo.es'],
  ['email', "o'hara+viajes@correo.mx", "o'hara+viajes@correo.mx"],
  ['email', 'ana', null],
  ['email', 'ana@ ', null],
  ['email', '@example.com', null],
  ['email', 'ana@b@c', null],
  ['email', 'a b@c', null],
  ['email', 'ana@exam\u00a0ple.com', null],
  ['email', 'Ana <ana@example.com>', null],
  ['email', '<ana@example.com>', null],
  ['email', ' MailTo:ana@example.com', null],
  ['instagram', '@Ana.Viaja', 'ana.viaja'],
  ['instagram', ' @ANA ', 'ana'],
  ['instagram', 'ana@viaja', 'ana@viaja'],
  ['instagram', ' @ ', null],
] as const)('of %s %j is the contact %j', (type, value, key) => {
  expect(contactKey(type, value)).toBe(key);
});

test('every text is a contact of messenger and web as it was sent; of email and instagram case and space tell none apart', () => {
  const ascii = fc.integer({ min: 0, max: 127 });
  const unit = fc.oneof(ascii, fc.nat({ max: 0x10ffff })).map((code) => String.fromCodePoint(code));
  const text = fc.string({ unit, minLength: 1, maxLength: 40 });
  fc.assert(
    fc.property(text, (value) => {
      const isAsSent = (['messenger', 'web'] as const).every((type) => contactKey(type, value) === value);
      const others = [value.toLowerCase(), `  ${value}\t`];
      const isOneContact = (['email', 'instagram'] as const).every((type) =>
        others.every((other) => contactKey(type, other) === contactKey(type, value)),
      );
      return isAsSent && isOneContact;
    }),
  );
});
