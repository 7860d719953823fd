import { isPossiblePhoneNumber, isValidPhoneNumber } from 'libphonenumber-js/max';

/**
 * The contact key: contacts with the same key are the same account, however people write it. See
 * docs/decisions/contract.md, "Contacts". The country rules follow how WhatsApp reports numbers of Mexico, Argentina and Brazil.
 */

export const IDENTIFIER_TYPES = ['whatsapp', 'instagram', 'messenger', 'email', 'telefono', 'web'] as const;
export type IdentifierType = (typeof IDENTIFIER_TYPES)[number];

const PUNCTUATION = /[\s.()[\]{}\p{Dash_Punctuation}]/gu;
const E164 = /^\+[1-9]\d{6,14}$/;
/** With the country code, as WhatsApp reports numbers. */
const REPORTED_DIGITS = /^[1-9]\d{11,14}$/;
const FEW_DIGITS = /^\d{8,11}$/;
const ONLY_DIGITS = /^\d{1,11}$/;

/** Meta's business-scoped user ids, which replace a hidden number. */
const BUSINESS_SCOPED_ID = /^[A-Z]{2}(\.ENT)?\.[A-Za-z0-9]{1,128}$/;

/** Forms of one number that differ by country: Mexico's 1 and Argentina's 9 after the country code, Brazil's ninth digit. */
const COUNTRY_VARIANTS: readonly [RegExp, string][] = [
  [/^\+521(\d{10})$/, '+52$1'],
  [/^\+549(\d{10})$/, '+54$1'],
  [/^\+55(\d{2})9(\d{8})$/, '+55$1$2'],
];

/** How WhatsApp gateways report an account: a number, or a linked id in place of a hidden number. */
const NUMBER_OF_GATEWAY = /^(\d+)@(?:s\.whatsapp\.net|c\.us)$/;
const LINKED_ID = /^\d{6,20}@lid$/;

const isTelephone = (type: IdentifierType): boolean => type === 'whatsapp' || type === 'telefono';

const withoutPunctuation = (value: string): string => value.replace(PUNCTUATION, '').replace(/^00/, '+');

const NUMBER_IN_SEARCH = /^[\d+\s.()[\]{}\p{Dash_Punctuation}]{4,}$/u;

/** The texts that a search looks for: the text itself, and a telephone number without punctuation. */
export const searchedTexts = (text: string): string[] =>
  NUMBER_IN_SEARCH.test(text) ? [text, withoutPunctuation(text)] : [text, text];

/** The number in one form, if its country has two. */
const foldCountry = (number: string): string =>
  COUNTRY_VARIANTS.reduce((text, [form, canonical]) => text.replace(form, canonical), number);

/** The number in E.164, without punctuation and with a + for 00; null if the value is not a telephone number. */
function e164(value: string): string | null {
  const number = withoutPunctuation(value);
  if (E164.test(number)) return number;
  const folded = foldCountry(`+${number}`);
  // Many digits can be a linked id without its @lid. Few can be a national number, which as an international one would belong
  // to another person.
  const isInternational =
    (REPORTED_DIGITS.test(number) && isPossiblePhoneNumber(folded)) ||
    (FEW_DIGITS.test(number) && isValidPhoneNumber(folded));
  return isInternational ? `+${number}` : null;
}

/** The number in a value that a WhatsApp gateway reports. */
const withoutGateway = (type: IdentifierType, value: string): string =>
  type === 'whatsapp' ? value.replace(NUMBER_OF_GATEWAY, '$1') : value;

/** Only the basic form; whether an address exists, only its mail server knows. */
export const isEmailAddress = (text: string): boolean => /^(?!mailto:)[^@\s<>]+@[^@\s<>]+$/i.test(text);

/** The contact's number in E.164, in the form of its country; null for other channels, and for ids that are not numbers. */
export const phoneNumber = (type: IdentifierType, value: string): string | null =>
  isTelephone(type) ? e164(withoutGateway(type, value)) : null;

/** The contact key; null if the value is not an identifier of its type. */
export function contactKey(type: IdentifierType, value: string): string | null {
  switch (type) {
    case 'whatsapp':
    case 'telefono': {
      if (type === 'whatsapp' && (BUSINESS_SCOPED_ID.test(value) || LINKED_ID.test(value))) return value;
      const number = phoneNumber(type, value);
      return number && foldCountry(number);
    }
    case 'email': {
      const address = value.trim().toLowerCase();
      return isEmailAddress(address) ? address : null;
    }
    case 'instagram':
      return value.trim().replace(/^@/, '').toLowerCase() || null;
    case 'messenger':
    case 'web':
      return value || null;
  }
}

/**
 * The possible contact keys of a value, by type.
 * @param value from a URL, where an unencoded + is a space
 */
export const possibleKeys = (
  value: string,
  types: readonly IdentifierType[] = IDENTIFIER_TYPES,
): Partial<Record<IdentifierType, string>> =>
  Object.fromEntries(
    types.flatMap((type) => {
      const key = contactKey(type, isTelephone(type) ? value.replace(/^ (?=\d)/, '+') : value);
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
  const digits = withoutPunctuation(withoutGateway(type, value));
  if (isTelephone(type) && ONLY_DIGITS.test(digits)) return 'must start with + and the country code';
  return type === 'whatsapp' && REPORTED_DIGITS.test(digits)
    ? 'is not a telephone number; if it is a linked id of WhatsApp, it must end in @lid'
    : RULES[type];
}

/** The searched text of a contact: its value, its key, and the digits of its number. */
export const searchText = (contact: {
  identifierValue: string;
  contactKey: string;
  phoneNumber: string | null;
}): string =>
  [contact.identifierValue, contact.contactKey, ...(contact.phoneNumber ? [contact.phoneNumber] : [])].join(
    '\u001f',
  );
