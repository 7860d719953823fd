import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  COUNTRY_VARIANTS,
  contactKey,
  IDENTIFIER_TYPES,
  identifierRule,
  phoneNumber,
  possibleKeys,
  searchedTexts,
} from '../../rules/contact-key.ts';

/** The contact key and the telephone number of a value. */
const read = (type: (typeof IDENTIFIER_TYPES)[number], value: string) => ({
  key: contactKey(type, value),
  number: phoneNumber(type, value),
});
const NONE = { key: null, number: null };

const TELEPHONE_TYPES = ['whatsapp', 'telefono'] as const;
const OTHER_TYPES = ['instagram', 'messenger', 'email', 'web'] as const;

test('an empty text is no contact; only telephone types have a number', () => {
  for (const type of IDENTIFIER_TYPES) expect(read(type, '')).toEqual(NONE);
  for (const type of OTHER_TYPES) expect(phoneNumber(type, '+525512345678')).toBeNull();
});

describe.each(TELEPHONE_TYPES)('%s', (type) => {
  test.each<[value: string, key: string, number?: string]>([
    ['+5215512345678', '+525512345678', '+5215512345678'],
    ['0052 55 1234 5678', '+525512345678'],
    ['525512345678', '+525512345678'],
    // Only the 00 makes these digits a number.
    ['005111111111', '+5111111111'],
    ['+51 987\u00ad654\u200b321\ufeff', '+51987654321'],
    ['WhatsApp: +51 987-654-321', '+51987654321'],
    ['tel:+51-987-654-321', '+51987654321'],
  ])('%s is the contact %s', (value, key, number = key) => {
    expect(read(type, value)).toEqual({ key, number });
  });

  const NO_NUMBER = /^must be a telephone number/;
  const NO_COUNTRY = /^must start with \+ and the country code$/;
  test.each([
    [' ', NO_NUMBER],
    ['1234567', NO_COUNTRY],
    ['55 9876-5432', NO_COUNTRY],
    ['0123456789', NO_COUNTRY],
    ['+525512345678@lid', NO_NUMBER],
    ['+1234567890123456', NO_NUMBER],
    ['+123456', NO_NUMBER],
    ['+51 1 444-5556 - 102', /too few or too many digits for its country$/],
    // With a digit more, numbers of Mexico and Brazil have no second form.
    ['+52155123456789', NO_NUMBER],
    // Only a valid number proves that the digits before it are a prefix.
    ['+52 01 00 1234 5678', NO_NUMBER],
    ['+51 987 654 321 / 987 654 322', NO_NUMBER],
    ['tel:+51-1-444-5556;ext=102', NO_NUMBER],
    ['+0123456789', NO_NUMBER],
    ['+52/5512345678', NO_NUMBER],
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

/** The same number, as it is dialled abroad and, behind its country code, at home. */
const DIALLED_AT_HOME = `
+593987654321: +593 09 8765 4321 | 00593 (0)98 765 4321 | 593 09 8765 4321
+5511988887777: +55 011 98888-7777 | +55 0 15 11 98888-7777 | +55 90 11 98888-7777 | +55 011 8888-7777
+525512345678: +52 01 55 1234 5678 | +52 044 55 1234 5678 | +52 045 1 55 1234 5678 | 52 044 55 1234 5678
+5215512345678: +52 1 044 55 1234 5678
+5491123456789: +54 11 15 2345-6789 | +54 011 15 2345-6789 | +54 9 11 15 2345-6789 | +54 9 011 2345-6789
+5492966234567: +54 2966 15 23-4567 | +54 02966 15 23-4567
+573001234567: +57 03 300 123 4567 | +57 0 300 123 4567
+5114445556: +51 01 444-5556 | 51 01 444 5556
+18095551234: +1 1 809 555 1234
+442079460958: +44 (0)20 7946 0958
+79123456789: +7 8 912 345 67 89`;

test.each(DIALLED_AT_HOME.trim().split('\n'))(
  '%s: one contact, whatever is dialled at home before it',
  (line) => {
    const [number = '', forms = ''] = line.split(': ');
    const key = contactKey('whatsapp', number);
    for (const form of forms.split(' | ')) {
      expect(contactKey('telefono', form), form).toBe(key);
      expect(contactKey('whatsapp', String(phoneNumber('whatsapp', form))), form).toBe(key);
      expect(phoneNumber('whatsapp', form), form).toMatch(/^\+[1-9]\d{9,12}$/);
    }
  },
);

test.each(['+390669812345', '+3903331234567', '+2250707123456', '+242066123456', '+78001234567'])(
  'the digits of %s that look like a prefix belong to the number',
  (number) => {
    expect(read('whatsapp', number)).toEqual({ key: number, number });
  },
);

/** One of each line of COUNTRY_VARIANTS: two forms of one number. */
const VARIANTS: [country: string, national: RegExp, forms: (digits: string) => [string, string]][] = [
  ['Mexico', /^[1-9]\d{9}$/, (digits) => [`+52${digits}`, `+521${digits}`]],
  ['Argentina', /^[1-8]\d{9}$/, (digits) => [`+54${digits}`, `+549${digits}`]],
  ['Brazil', /^[1-9]{2}\d{8}$/, (digits) => [`+55${digits}`, `+55${digits.replace(/^../, '$&9')}`]],
];

test.each(VARIANTS)('the two forms of each number of %s are one contact', (_country, national, forms) => {
  expect(VARIANTS).toHaveLength(COUNTRY_VARIANTS.length);
  fc.assert(
    fc.property(fc.stringMatching(national), (digits) => {
      const [key, variant] = forms(digits);
      expect(read('whatsapp', key)).toEqual({ key, number: key });
      expect(read('telefono', variant)).toEqual({ key, number: variant });
    }),
    { examples: [['1198765432'], ['1191234567'], ['1199999999']] },
  );
});

describe('an account of whatsapp, as gateways report it', () => {
  test.each([
    ['5215512345678@s.whatsapp.net', '+525512345678', '+5215512345678'],
    ['51987654321_1:3@c.us', '+51987654321', '+51987654321'],
    [' whatsapp: 51987654321@c.us\n', '+51987654321', '+51987654321'],
    ['154417159582282:12@lid', '154417159582282@lid', null],
    ['\u2066154417159582282@lid\u2069', '154417159582282@lid', null],
    ['123456@lid', '123456@lid', null],
    [`${'9'.repeat(20)}@lid`, `${'9'.repeat(20)}@lid`, null],
    ['US.ENT.11815799212886844830', 'US.ENT.11815799212886844830', null],
    ['BR.a', 'BR.a', null],
    [`BR.${'Z9'.repeat(64)}`, `BR.${'Z9'.repeat(64)}`, null],
  ])('%s is the contact %s, and no contact of telefono', (value, key, number) => {
    expect(read('whatsapp', value)).toEqual({ key, number });
    expect(read('telefono', value)).toEqual(NONE);
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
  ['email', "o'hara+viajes@correo.mx", "o'hara+viajes@correo.mx"],
  ['email', 'ana', null],
  ['email', '@example.com', null],
  ['whatsapp', '51987654321@hosted', '+51987654321'],
  ['whatsapp', '+51987654321@s.whatsapp.net', '+51987654321'],
  ['whatsapp', '154417159582282@hosted.lid', '154417159582282@lid'],
  ['whatsapp', 'https://wa.me/51987654321?text=Hola', '+51987654321'],
  ['whatsapp', 'https://api.whatsapp.com/send/?phone=51987654321&text=x', '+51987654321'],
  ['whatsapp', 'https://wa.me/message/ABCDEF123', null],
  ['whatsapp', '12345@lid', null],
  ['whatsapp', `${'9'.repeat(21)}@lid`, null],
  ['whatsapp', '154417159582282@LID', null],
  ['whatsapp', 'MX.', null],
  ['whatsapp', 'MEX.123', null],
  ['whatsapp', 'MX.ABC.1', null],
  ['whatsapp', `BR.${'9'.repeat(129)}`, null],
  ['telefono', '51987654321@hosted', null],
  ['email', 'ana@b@c', null],
  ['email', 'ana@exam\u00a0ple.com', null],
  ['email', '<ana@example.com>', null],
  ['email', ' MailTo:ana@example.com', null],
  ['instagram', ' @ANA ', 'ana'],
  ['email', '\u200bana@example.com', 'ana@example.com'],
  ['email', 'jose\u0301@example.com', 'jos\u00e9@example.com'],
  ['web', 'jose\u0301\u2060', 'jos\u00e9'],
  ['messenger', '\u2060\u200b', null],
  ['instagram', 'https://www.instagram.com/ana.viaja/?igsh=MzRlODBiNWFlZA==', 'ana.viaja'],
  ['instagram', 'Instagram.com/@ana#bio', 'ana'],
  ['instagram', 'https://ig.me/m/ana', 'ana'],
  ['instagram', 'https://www.instagram.com/ana/reels/', 'ana'],
  ['instagram', 'https://www.instagram.com/p/DAbc123/', null],
  ['instagram', 'https://example.com/ana', null],
  ['instagram', 'ana/viaja', null],
  ['instagram', ' @ ', null],
] as const)('in %s %j is the contact %j', (type, value, key) => {
  expect(contactKey(type, value)).toBe(key);
});

test('a value in a URL, where a plus has become a space, stands for the contact that was meant', () => {
  expect(possibleKeys(' 51 987 654 321', ['telefono'])).toEqual({ telefono: '+51987654321' });
  expect(possibleKeys(' 0051 987 654 321', ['telefono'])).toEqual({ telefono: '+51987654321' });
  expect(possibleKeys('whatsapp: 51987654321', ['whatsapp'])).toEqual({ whatsapp: '+51987654321' });
  expect(possibleKeys(' 51987654321@c.us', ['whatsapp'])).toEqual({ whatsapp: '+51987654321' });
  expect(possibleKeys('ana viajes@example.com', ['email'])).toEqual({ email: 'ana+viajes@example.com' });
  expect(possibleKeys('ana@example.com \u200b', ['email'])).toEqual({ email: 'ana@example.com' });
  expect(possibleKeys('\u202a 98765-432', ['telefono'])).toEqual({ telefono: '+98765432' });
  expect(searchedTexts('ana viajes@')).toEqual(['ana viajes@', 'ana+viajes@']);
  expect(searchedTexts('whatsapp: 51987654321')[1]).toBe('51987654321');
  expect(searchedTexts('51987654321:12@s.whatsapp.net')[1]).toBe('51987654321');
  expect(searchedTexts('154417159582282:12@lid')[1]).toBe('154417159582282@lid');
  expect(searchedTexts('\u202a+51 987\u202c')[1]).toBe('+51987');
  expect(searchedTexts('+54 9 11 2')[2]).toBe('+54112');
  expect(searchedTexts('+55 11 9 8')[2]).toBe('+55118');
});

test.each([
  ['(011) 98888-7777', '+5511988887777'],
  ['044 55 1234 5678', '+525512345678'],
  ['011 15 2345-6789', '+5491123456789'],
  ['06 1234 5678', '+390612345678'],
] as const)('a search for %s, as it is dialled at home, finds %s', (dialled, number) => {
  expect(number).toContain(searchedTexts(dialled)[1]);
});

test('messenger and web take any text; email and instagram ignore case and outer spaces', () => {
  const ascii = fc.integer({ min: 0, max: 127 });
  const unit = fc.oneof(ascii, fc.nat({ max: 0x10ffff })).map((code) => String.fromCodePoint(code));
  fc.assert(
    fc.property(fc.string({ unit, minLength: 1, maxLength: 40 }), (value) => {
      const shown = value.replace(/\p{Default_Ignorable_Code_Point}/gu, '').normalize('NFC') || null;
      for (const type of ['messenger', 'web'] as const) expect(contactKey(type, value)).toBe(shown);
      for (const type of ['email', 'instagram'] as const)
        for (const same of [value.toLowerCase(), `  ${value}\t`])
          expect(contactKey(type, same)).toBe(contactKey(type, value));
    }),
  );
});
