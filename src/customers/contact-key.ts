/**
 * What makes two contacts the same account, whatever people write: the contact key. See "Contacts" in
 * docs/decisions.md; the country rules follow how WhatsApp itself reports numbers of Mexico, Argentina and Brazil.
 */

export type IdentifierType = 'whatsapp' | 'instagram' | 'messenger' | 'email' | 'telefono' | 'web';

const PUNCTUATION = /[\s.()[\]{}\p{Dash_Punctuation}]/gu;
const E164 = /^\+[1-9]\d{6,14}$/;
const BARE_DIGITS = /^\d{8,15}$/;

/** Meta's business-scoped user ids, which stand in for a number that the person hides. */
const BUSINESS_SCOPED_ID = /^[A-Z]{2}(\.ENT)?\.[A-Za-z0-9]{1,128}$/;

/** Forms of one number that differ by country: Mexico's 1 and Argentina's 9 after the country code, Brazil's ninth digit. */
const COUNTRY_VARIANTS: readonly [RegExp, string][] = [
  [/^\+521(\d{10})$/, '+52$1'],
  [/^\+549(\d{10})$/, '+54$1'],
  [/^\+55(\d{2})9(\d{8})$/, '+55$1$2'],
];

const isTelephone = (type: IdentifierType): boolean => type === 'whatsapp' || type === 'telefono';

/** The number in E.164, with punctuation and a leading 00 resolved; null for what is no telephone number. */
function e164(value: string): string | null {
  const digits = value.replace(PUNCTUATION, '').replace(/^00/, '+');
  const number = BARE_DIGITS.test(digits) ? `+${digits}` : digits;
  return E164.test(number) ? number : null;
}

/** One @ between two parts that are not empty; mail servers know more than a pattern can. */
export const isEmailAddress = (text: string): boolean => /^[^@]+@[^@]+$/.test(text);

/** The contact's number in E.164, as the person's own country writes it; null for other channels and business-scoped ids. */
export const phoneNumber = (type: IdentifierType, value: string): string | null =>
  isTelephone(type) ? e164(value) : null;

/** The contact key, or null for a value that is no identifier of its type. */
export function contactKey(type: IdentifierType, value: string): string | null {
  switch (type) {
    case 'whatsapp':
    case 'telefono': {
      if (type === 'whatsapp' && BUSINESS_SCOPED_ID.test(value)) return value;
      const number = e164(value);
      return (
        number && COUNTRY_VARIANTS.reduce((text, [form, canonical]) => text.replace(form, canonical), number)
      );
    }
    case 'email': {
      const address = value.trim().toLowerCase();
      return isEmailAddress(address) ? address : null;
    }
    case 'instagram':
      return value.trim().replace(/^@/, '').toLowerCase() || null;
    case 'messenger':
    case 'web':
      return value;
  }
}

/** What a value of the type must be, to complete "identifierValue …". */
export const identifierRule: Record<IdentifierType, string> = {
  whatsapp: 'must be a telephone number in E.164, such as +5215512345678, or a business-scoped user id',
  telefono: 'must be a telephone number in E.164, such as +5215512345678',
  email: 'must be an address with one @ between two parts',
  instagram: 'must be a handle',
  messenger: 'must not be empty',
  web: 'must not be empty',
};

/** What a search finds of a contact: the value as sent, its key, and its number, whose digits stand without punctuation. */
export const searchText = (contact: {
  identifierValue: string;
  contactKey: string;
  phoneNumber: string | null;
}): string =>
  [contact.identifierValue, contact.contactKey, ...(contact.phoneNumber ? [contact.phoneNumber] : [])].join(
    '\u001f',
  );
