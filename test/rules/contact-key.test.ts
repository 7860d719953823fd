import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { contactKey, IDENTIFIER_TYPES, identifierRule, phoneNumber } from '../../rules/contact-key.ts';

/** The contact key and the telephone number of a value. */
const read = (type: (typeof IDENTIFIER_TYPES)[number], value: string) => ({
  key: contactKey(type, value),
  number: phoneNumber(type, value),
});
const NONE = { key: null, number: null };

const TELEPHONE_TYPES = ['whatsapp', 'telefono'] as const;
const OTHER_TYPES = ['instagram', 'messenger', 'email', 'web'] as const;

test.each(IDENTIFIER_TYPES)('an empty text is no contact of %s', (type) => {
  expect(read(type, '')).toEqual(NONE);
});

test.each(OTHER_TYPES)('a contact of %s has no telephone number', (type) => {
  expect(phoneNumber(type, '+525512345678')).toBeNull();
});

describe.each(TELEPHONE_TYPES)('%s', (type) => {
  test.each<[value: string, key: string, number?: string]>([
    ['+5215512345678', '+525512345678', '+5215512345678'],
    ['+52 1 (55) 1234-5678', '+525512345678', '+5215512345678'],
    ['0052 55 1234 5678', '+525512345678'],
    ['525512345678', '+525512345678'],
    ['\u00a0+52\u00a055\u20091234\u20135678 ', '+525512345678'],
    ['+5491123456789', '+541123456789', '+5491123456789'],
    ['+5511987654321', '+551187654321', '+5511987654321'],
    ['+551134567890', '+551134567890'],
    ['34612345678', '+34612345678'],
    ['+1234567', '+1234567'],
    // Only the 00 makes these digits a number.
    ['001234567', '+1234567'],
    ['+123456789012345', '+123456789012345'],
    // With a digit more or less, numbers of Mexico, Argentina and Brazil have no second form.
    ['+52155123456789', '+52155123456789'],
    ['+521551234567', '+521551234567'],
    ['+54911234567890', '+54911234567890'],
    ['+54911234567', '+54911234567'],
    ['+55119876543210', '+55119876543210'],
  ])('%s is the contact %s', (value, key, number = key) => {
    expect(read(type, value)).toEqual({ key, number });
  });

  const NO_NUMBER = /^must be a telephone number/;
  const NO_COUNTRY = /^must start with \+ and the country code$/;
  test.each([
    [' ', NO_NUMBER],
    ['00', NO_NUMBER],
    ['1234567', NO_COUNTRY],
    ['55 9876-5432', NO_COUNTRY],
    ['11987654321', NO_COUNTRY],
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
    ['٠١٢٣٤٥٦٧٨٩', NO_NUMBER],
    ['+5255\u00001234567', NO_NUMBER],
  ])('%j is no telephone number', (value, rule) => {
    expect(read(type, value)).toEqual(NONE);
    expect(identifierRule(type, value)).toMatch(rule);
  });

  test('a key is a number and its own key, and punctuation does not change it', () => {
    const number = fc.stringMatching(/^(\+|00)?[ \d]{6,18}$/);
    const punctuation = fc.constantFrom('', ' ', '-', '.', '(', ')', '\u00a0', '\u2013', '[', ']');
    fc.assert(
      fc.property(number, fc.array(punctuation, { minLength: 20, maxLength: 20 }), (value, noise) => {
        const punctuated = [...value].map((character, index) => character + noise[index]).join('');
        const { key } = read(type, value);
        expect(read(type, punctuated)).toEqual(read(type, value));
        if (key === null) return;
        expect(key).toMatch(/^\+[1-9]\d{6,14}$/);
        expect(contactKey(type, key)).toBe(key);
      }),
    );
  });
});

describe('an account of whatsapp, as gateways report it', () => {
  test.each([
    ['5215512345678@s.whatsapp.net', '+525512345678', '+5215512345678'],
    ['5511987654321@c.us', '+551187654321', '+5511987654321'],
    ['154417159582282@lid', '154417159582282@lid', null],
    ['123456@lid', '123456@lid', null],
    [`${'9'.repeat(20)}@lid`, `${'9'.repeat(20)}@lid`, null],
    ['MX.13491208655302741918', 'MX.13491208655302741918', null],
    ['US.ENT.11815799212886844830', 'US.ENT.11815799212886844830', null],
    ['BR.a', 'BR.a', null],
    [`BR.${'Z9'.repeat(64)}`, `BR.${'Z9'.repeat(64)}`, null],
  ])('%s is the contact %s, and no contact of telefono', (value, key, number) => {
    expect(read('whatsapp', value)).toEqual({ key, number });
    expect(read('telefono', value)).toEqual(NONE);
  });

  test.each([
    '12345@lid',
    `${'9'.repeat(21)}@lid`,
    '154417159582282@LID',
    ' 154417159582282@lid',
    'ana@lid',
    'MX.',
    'mx.123',
    'MEX.123',
    'MX.12 34',
    ' MX.123',
    'MX.ENT.',
    'MX.ABC.1',
    `BR.${'9'.repeat(129)}`,
  ])('%j is no contact', (value) => {
    expect(read('whatsapp', value)).toEqual(NONE);
  });

  test.each(['154417159582282', '154417159582282@s.whatsapp.net', '999999999999', '15441 715958 2282'])(
    'the digits %j, which are no possible number, may be a linked id without its @lid: the error says so',
    (value) => {
      for (const type of TELEPHONE_TYPES) expect(read(type, value)).toEqual(NONE);
      expect(identifierRule('whatsapp', value)).toMatch(/must end in @lid$/);
      expect(identifierRule('telefono', value)).toMatch(/^must be a telephone number/);
    },
  );

  test('digits are the contact of the same digits with a +, or no contact', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[1-9]\d{5,14}$/), (digits) => {
        const key = contactKey('whatsapp', digits);
        expect([null, contactKey('whatsapp', `+${digits}`)]).toContain(key);
        expect(contactKey('whatsapp', `${digits}@c.us`)).toBe(key);
        expect(read('whatsapp', `${digits}@lid`)).toEqual({ key: `${digits}@lid`, number: null });
      }),
    );
  });
});

test.each([
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
  ['email', '<ana@example.com>', null],
  ['email', ' MailTo:ana@example.com', null],
  ['instagram', '@Ana.Viaja', 'ana.viaja'],
  ['instagram', ' @ANA ', 'ana'],
  ['instagram', 'ana@viaja', 'ana@viaja'],
  ['instagram', ' @ ', null],
] as const)('in %s %j is the contact %j', (type, value, key) => {
  expect(contactKey(type, value)).toBe(key);
});

test('messenger and web take any text as it is; email and instagram ignore case and outer spaces', () => {
  const ascii = fc.integer({ min: 0, max: 127 });
  const unit = fc.oneof(ascii, fc.nat({ max: 0x10ffff })).map((code) => String.fromCodePoint(code));
  fc.assert(
    fc.property(fc.string({ unit, minLength: 1, maxLength: 40 }), (value) => {
      for (const type of ['messenger', 'web'] as const) expect(contactKey(type, value)).toBe(value);
      for (const type of ['email', 'instagram'] as const)
        for (const same of [value.toLowerCase(), `  ${value}\t`])
          expect(contactKey(type, same)).toBe(contactKey(type, value));
    }),
  );
});
