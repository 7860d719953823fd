import { isPossiblePhoneNumber, isValidPhoneNumber } from 'libphonenumber-js/max';

/**
 * The contact key: two contacts with one key are one account, however people write it. See docs/decisions/contract.md,
 * "Contacts"; the country rules follow how WhatsApp itself reports numbers of Mexico, Argentina and Brazil.
 */

export const IDENTIFIER_TYPES = ['whatsapp', 'instagram', 'messenger', 'email', 'telefono', 'web'] as const;
export type IdentifierType = (typeof IDENTIFIER_TYPES)[number];

const PUNCTUATION = /[\s.()[\]{}\p{Dash_Punctuation}]/gu;
const E164 = /^\+[1-9]\d{6,14}$/;
/** With the country code, as WhatsApp reports numbers. */
const REPORTED_DIGITS = /^[1-9]\d{11,14}$/;
const FEW_DIGITS = /^\d{8,11}$/;
const ONLY_DIGITS = /^\d{1,11}$/;

/** Meta's business-scoped user ids, which stand in for a number that the person hides. */
const BUSINESS_SCOPED_ID = /^[A-Z]{2}(\.ENT)?\.[A-Za-z0-9]{1,128}$/;

/** Forms of one number that differ by country: Mexico's 1 and Argentina's 9 after the country code, Brazil's ninth digit. */
const COUNTRY_VARIANTS: readonly [RegExp, string][] = [
  [/^\+521(\d{10})$/, '+52$1'],
  [/^\+549(\d{10})$/, '+54$1'],
  [/^\+55(\d{2})9(\d{8})$/, '+55$1$2'],
];

/** How WhatsApp's gateways report an account: a number, or a linked id in place of a number that the person hides. */
const NUMBER_OF_GATEWAY = /^(\d+)@(?:s\.whatsapp\.net|c\.us)$/;
const LINKED_ID = /^\d{6,20}@lid$/;

const isTelephone = (type: IdentifierType): boolean => type === 'whatsapp' || type === 'telefono';

const withoutPunctuation = (value: string): string => value.replace(PUNCTUATION, '').replace(/^00/, '+');

const NUMBER_IN_SEARCH = /^[\d+\s.()[\]{}\p{Dash_Punctuation}]{4,}$/u;

/** What a search for this text looks for: the text, and a telephone number without its punctuation. */
export const searchedTexts = (text: string): string[] =>
  NUMBER_IN_SEARCH.test(text) ? [text, withoutPunctuation(text)] : [text, text];

/** The number without what is written in two ways in its country. */
const foldCountry = (number: string): string =>
  COUNTRY_VARIANTS.reduce((text, [form, canonical]) => text.replace(form, canonical), number);

/** The number in E.164, with punctuation and a leading 00 resolved; null where the value is no telephone number. */
function e164(value: string): string | null {
  const number = withoutPunctuation(value);
  if (E164.test(number)) return number;
  const folded = foldCountry(`+${number}`);
  // Many digits can be a linked id without its @lid. Few can be a national number: taken for an international one, it would be
  // somebody else's abroad.
  const isInternational =
    (REPORTED_DIGITS.test(number) && isPossiblePhoneNumber(folded)) ||
    (FEW_DIGITS.test(number) && isValidPhoneNumber(folded));
  return isInternational ? `+${number}` : null;
}

/** The number that a value of WhatsApp is reported with. */
const withoutGateway = (type: IdentifierType, value: string): string =>
  type === 'whatsapp' ? value.replace(NUMBER_OF_GATEWAY, '$1') : value;

/** One @ between two parts, and neither a name nor a link around them; mail servers know more than a pattern can. */
export const isEmailAddress = (text: string): boolean => /^(?!mailto:)[^@\s<>]+@[^@\s<>]+$/i.test(text);

/** The contact's number in E.164, as the person's own country writes it; null for other channels and ids that are no number. */
export const phoneNumber = (type: IdentifierType, value: string): string | null =>
  isTelephone(type) ? e164(withoutGateway(type, value)) : null;

/** The contact key, or null for a value that is no identifier of its type. */
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
 * The contact keys that a value can have, by type: of one type, or of each that it fits.
 * @param value from the query of an address, where a + that was not encoded is a space
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

/** The contact key of a conversation's contact, where its channel is one that customers are reached on. */
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

/** The rule that a value without a contact key breaks, to complete "identifierValue …". */
export function identifierRule(type: IdentifierType, value: string): string {
  const digits = withoutPunctuation(withoutGateway(type, value));
  if (isTelephone(type) && ONLY_DIGITS.test(digits)) return 'must start with + and the country code';
  return type === 'whatsapp' && REPORTED_DIGITS.test(digits)
    ? 'is not a telephone number; if it is a linked id of WhatsApp, it must end in @lid'
    : RULES[type];
}

/** The searched text of a contact: the value as sent, its key, and the digits of its number without punctuation. */
export const searchText = (contact: {
  identifierValue: string;
  contactKey: string;
  phoneNumber: string | null;
}): string =>
  [contact.identifierValue, contact.contactKey, ...(contact.phoneNumber ? [contact.phoneNumber] : [])].join(
    '\u001f',
  );
