import { parsePhoneNumberFromString } from 'libphonenumber-js/max';

/**
 * The contact key: contacts with the same key are the same account, however people write it. See
 * docs/decisions/contract.md, "Contacts". The country rules follow how WhatsApp reports numbers of Mexico, Argentina and Brazil.
 */

export const IDENTIFIER_TYPES = ['whatsapp', 'instagram', 'messenger', 'email', 'telefono', 'web'] as const;
export type IdentifierType = (typeof IDENTIFIER_TYPES)[number];

/** Characters that nobody sees; they come along when a number or an address is copied. */
const INVISIBLE = /\p{Default_Ignorable_Code_Point}/gu;
const PUNCTUATION = /[\s.()[\]{}\p{Dash_Punctuation}]/gu;
const E164 = /^\+[1-9]\d{6,14}$/;
/** With prefixes that are dialled only within a country. */
const DIALLED = /^\+[1-9]\d{6,18}$/;
/** With the country code, as WhatsApp reports numbers. */
const REPORTED_DIGITS = /^[1-9]\d{11,14}$/;
const FEW_DIGITS = /^\d{8,11}$/;
const ONLY_DIGITS = /^\d{1,11}$/;

/** Meta's business-scoped user ids, which replace a hidden number. */
const BUSINESS_SCOPED_ID = /^[A-Z]{2}(\.ENT)?\.[A-Za-z0-9]{1,128}$/;

type Replacement = readonly [form: RegExp, canonical: string];

const MEXICO: Replacement = [/^\+521(\d{10})$/, '+52$1'];

/** Forms of one number that differ by country: Mexico's 1 and Argentina's 9 after the country code, Brazil's ninth digit. */
export const COUNTRY_VARIANTS: readonly Replacement[] = [
  MEXICO,
  [/^\+549(\d{10})$/, '+54$1'],
  [/^\+55(\d{2})9(\d{8})$/, '+55$1$2'],
];

/**
 * Prefixes behind the country code that libphonenumber does not know there: Mexico's, until 2019; Argentina's 0 or 15 after its 9;
 * Brazil's 0 and carrier before a mobile number without its ninth digit; a 0 where numbers have no trunk prefix.
 */
const DOMESTIC_PREFIXES: readonly Replacement[] = [
  [/^\+521?0(?:[12]|4[45])1?(\d{10})$/, '+52$1'],
  [/^\+5490(\d{10})$/, '+549$1'],
  [/^\+5490?(\d{12})$/, '+54$1'],
  [/^\+550(?:\d\d)?(?<area>\d\d)(?<number>[6-9]\d{7})$/, '+55$<area>9$<number>'],
  [/^\+(34|50[1-79]|56|57|59[27])0(\d+)$/, '+$1$2'],
];

/** How WhatsApp gateways report an account: a number with the device, or a linked id in place of a hidden number. */
const SCHEME = /^(?:whatsapp|tel):/i;
const DEVICE = /^\+?(\d+)(?:[._]\d+)?(?::\d+)?@(?:s\.whatsapp\.net|c\.us|hosted)$/;
const LINKED_DEVICE = /^(\d+)(?:[._]\d+)?(?::\d+)?@(?:hosted\.)?lid$/;
/** A link that opens a chat: its number has the country code. */
const CHAT_LINK =
  /^(?:(?:https?:)?\/\/)?(?:wa\.me\/|(?:api|web)\.whatsapp\.com\/send\/?\?phone=)\+?(\d{6,18})(?:[/?&#].*)?$/i;
const LINKED_ID = /^\d{6,20}@lid$/;

const isTelephone = (type: IdentifierType): boolean => type === 'whatsapp' || type === 'telefono';

/** 320 characters. Normalizing combining marks in a row takes quadratic time, so a longer text is no contact. */
const MAX_LENGTH = 640;

const visible = (value: string): string =>
  value.length > MAX_LENGTH ? '' : value.replace(INVISIBLE, '').normalize('NFC');

const withoutPunctuation = (value: string): string => value.replace(PUNCTUATION, '').replace(/^00/, '+');

/** What is dialled before a number at home, and is no part of it: Mexico's until 2019, Argentina's 0 and 15, any other trunk prefix. */
const DIALLED_AT_HOME: readonly Replacement[] = [
  [/^0(?:1|4[45])(\d{10})$/, '$1'],
  [/^0(?=\d{12}$)(\d{2,4})15(\d{6,8})$/, '$1$2'],
  [/^0(\d{7,})$/, '$1'],
];

/** `COUNTRY_VARIANTS` in the first part of a number. */
const START_OF_VARIANT = /^\+(?:(52)1|(54)9|(55\d\d)9)/;

const NUMBER_IN_SEARCH = /^[\d+\s.()[\]{}\p{Dash_Punctuation}]{4,}$/u;

/**
 * The texts that a search looks for: the text, and what else it may stand for: the contact key of a telephone number or a handle, a
 * part of a number without punctuation, or an address in a URL, where an unencoded + is a space.
 */
export function searchedTexts(text: string): string[] {
  const value = visible(text);
  const identifier = account('whatsapp', value);
  if (NUMBER_IN_SEARCH.test(identifier)) {
    const key = contactKey('telefono', identifier)?.slice(1);
    if (key !== undefined) return [text, key];
    const part = replaced(withoutPunctuation(identifier), DIALLED_AT_HOME);
    const folded = part.replace(START_OF_VARIANT, '+$1$2$3');
    const digits = identifier.replace(PUNCTUATION, '');
    // Two zeros are dialled before a country code, or stand inside of the number.
    if (digits.startsWith('00')) return [text, folded, digits];
    return folded === part ? [text, part] : [text, part, folded];
  }
  const handle = value.trim().toLowerCase();
  if (handle.startsWith('@') || PROFILE.test(handle)) return [text, contactKey('instagram', handle) ?? value];
  return [text, identifier.includes('@') ? identifier.replaceAll(' ', '+') : value];
}

const replaced = (number: string, replacements: readonly Replacement[]): string =>
  replacements.reduce((text, [form, canonical]) => text.replace(form, canonical), number);

/** The number in one form, if its country has two. */
const foldCountry = (number: string): string => replaced(number, COUNTRY_VARIANTS);

function readNumber(number: string) {
  // libphonenumber knows the other variants.
  const readable = number.replace(...MEXICO);
  const parsed = parsePhoneNumberFromString(readable);
  const isValid = () => parsed?.isValid() ?? false;
  // It removes trunk prefixes, but not zeros that belong to the number, as in Italy, Ivory Coast and Congo.
  const isShorter = parsed && parsed.number.length < readable.length && isValid();
  return {
    number: isShorter ? parsed.number : number,
    isValid,
    isPossible: () => parsed?.isPossible() ?? false,
  };
}

/** The number without prefixes that are dialled only within its country: only a valid number proves that digits are a prefix. */
function international(number: string) {
  const read = readNumber(number);
  const shorter = replaced(number, DOMESTIC_PREFIXES);
  if (shorter === number || read.isValid()) return read;
  const other = readNumber(shorter);
  return other.isValid() ? other : read;
}

/** A request reads the same number up to four times: 11 to 21 µs in place of 36 to 60. */
const recent = new Map<string, string | null>();

/** The number in E.164, without punctuation and with a + for 00; null if the value is not a telephone number. */
function e164(value: string): string | null {
  const known = recent.get(value);
  if (known !== undefined) return known;
  const number = readE164(value);
  if (recent.size === 100) recent.clear();
  recent.set(value, number);
  return number;
}

function readE164(value: string): string | null {
  const sent = withoutPunctuation(value);
  const hasPlus = sent.startsWith('+');
  const dialled = hasPlus ? sent : `+${sent}`;
  if (!DIALLED.test(dialled)) return null;
  const { number, isValid, isPossible } = international(dialled);
  // Many digits can be a linked id without its @lid. Few can be a national number, which as an international one would belong
  // to another person.
  const isInternational = FEW_DIGITS.test(sent)
    ? isValid()
    : (hasPlus || REPORTED_DIGITS.test(sent)) && isPossible();
  return isInternational && E164.test(number) ? number : null;
}

/** The identifier of a telephone type, without what gateways add to it. */
function account(type: IdentifierType, value: string): string {
  const plain = value.trim().replace(SCHEME, '').trim();
  return type === 'whatsapp'
    ? plain.replace(CHAT_LINK, '+$1').replace(DEVICE, '$1').replace(LINKED_DEVICE, '$1@lid')
    : plain;
}

/** Only the basic form; whether an address exists, only its mail server knows. */
export const isEmailAddress = (text: string): boolean => /^(?!mailto:)[^@\s<>]+@[^@\s<>]+$/i.test(text);

/** The contact's number in E.164, in the form of its country; null for other channels, and for ids that are not numbers. */
export const phoneNumber = (type: IdentifierType, value: string): string | null =>
  isTelephone(type) ? e164(account(type, visible(value))) : null;

/** The address of a profile, as the browser or the app copies it; not that of a post or a story. */
const PROFILE =
  /^(?:(?:https?:)?\/\/)?(?:[\w-]+\.)?(?:instagram\.com|instagr\.am|ig\.me\/m)\/(?:_u\/)?@?(?!(?:p|reels?|tv|stories|explore|direct|accounts)(?:[/?#]|$))([\w.]+)(?:\/(?:reels|tagged|channel|followers|following))?\/?(?:[?#].*)?$/;

/** The contact key; null if the value is not an identifier of its type. */
export function contactKey(type: IdentifierType, sent: string): string | null {
  const value = visible(sent);
  switch (type) {
    case 'whatsapp':
    case 'telefono': {
      const identifier = account(type, value);
      if (type === 'whatsapp' && (BUSINESS_SCOPED_ID.test(identifier) || LINKED_ID.test(identifier)))
        return identifier;
      const number = e164(identifier);
      return number && foldCountry(number);
    }
    case 'email': {
      const address = value.trim().toLowerCase();
      return isEmailAddress(address) ? address : null;
    }
    case 'instagram': {
      const handle = value.trim().toLowerCase().replace(PROFILE, '$1').replace(/^@/, '');
      return handle.includes('/') ? null : handle || null;
    }
    case 'messenger':
    case 'web':
      return value || null;
  }
}

/** The value of a URL as it was meant: there, an unencoded + is a space. */
function withPlus(type: IdentifierType, value: string): string {
  if (type === 'email') return value.trim().replaceAll(' ', '+');
  return isTelephone(type) ? value.replace(/^((?:whatsapp|tel):)? (?=[1-9][^@]*$)/i, '$1+') : value;
}

/**
 * The possible contact keys of a value, by type.
 * @param value from a URL
 */
export const possibleKeys = (
  value: string,
  types: readonly IdentifierType[] = IDENTIFIER_TYPES,
): Partial<Record<IdentifierType, string>> =>
  Object.fromEntries(
    types.flatMap((type) => {
      const key = contactKey(type, withPlus(type, visible(value)));
      return key === null ? [] : [[type, key]];
    }),
  );

/** The contact key of a conversation's contact; null if its channel is not a type of contact. */
export const keyOnChannel = (channel: string, contact: string): string | null => {
  const type = IDENTIFIER_TYPES.find((known) => known === channel);
  return type === undefined ? null : contactKey(type, contact);
};

export const EMAIL_RULE = 'must be an address with one @ between two parts, without spaces, mailto: or <>';

const RULES: Record<IdentifierType, string> = {
  whatsapp:
    'must be a telephone number in E.164, such as +5215512345678, a business-scoped user id, or a linked id that ends in @lid',
  telefono: 'must be a telephone number in E.164, such as +5215512345678',
  email: EMAIL_RULE,
  instagram: 'must be a handle',
  messenger: 'must not be empty',
  web: 'must not be empty',
};

/** The rule that a value without a contact key breaks: the end of a sentence that begins with the field's name. */
export function identifierRule(type: IdentifierType, value: string): string {
  const rule = RULES[type];
  if (type === 'instagram' && value.includes('/')) return `${rule}, or the address of a profile`;
  if (!isTelephone(type)) return rule;
  const digits = withoutPunctuation(account(type, visible(value)));
  // A national number, of an unknown country.
  if (ONLY_DIGITS.test(digits)) return 'must start with + and the country code';
  if (DIALLED.test(digits)) return `${rule}; this has too few or too many digits for its country`;
  return type === 'whatsapp' && REPORTED_DIGITS.test(digits)
    ? 'is not a telephone number; if it is a linked id of WhatsApp, it must end in @lid'
    : rule;
}
