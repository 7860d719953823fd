import { EXAMPLE_ID } from '../src/contract/fields.ts';
import { CustomerCreate } from '../src/customers/schema.ts';
import { type Home, homes, names, wishes } from './people.ts';
import { slug } from './products.ts';
import { at, daysAgo, idOf, type Random, randomOf } from './random.ts';
import type { Language } from './themes.ts';

export type DemoCustomer = {
  id: string;
  language: Language;
  /** When the person first wrote. */
  since: Date;
  input: CustomerCreate;
};

const COUNT = 400;

type Account = 'whatsapp' | 'hidden number' | 'instagram' | 'messenger' | 'email' | 'telefono' | 'web';

/** The accounts that people have, the primary one first. */
const accounts: readonly (readonly Account[])[] = [
  ['whatsapp', 'email'],
  ['whatsapp'],
  ['whatsapp', 'instagram'],
  ['instagram'],
  ['whatsapp', 'email', 'telefono'],
  ['messenger'],
  ['email', 'telefono'],
  ['whatsapp'],
  ['instagram', 'whatsapp', 'email'],
  ['web', 'email'],
  ['whatsapp', 'messenger'],
  ['telefono'],
  ['hidden number', 'email'],
];
const leadAccounts: readonly (readonly Account[])[] = [
  ['instagram'],
  ['messenger'],
  ['web'],
  ['whatsapp'],
  ['hidden number'],
];

/** Distributes the customers over the countries by their percentages. */
function homeOf(index: number): Home {
  const place = (index * 37) % 100;
  const total = homes.map((_, last) => homes.slice(0, last + 1).reduce((sum, { share }) => sum + share, 0));
  return at(
    homes,
    total.findIndex((upTo) => place < upTo),
  );
}

/** Fills the pattern of a number. 7,919 and 10 have no common factor, so no two customers get the same digits. */
function numberOf(form: string, area: string, index: number): string {
  const length = form.split('X').length - 1;
  const rest = String(((index + 97) * 7_919 * 3_571) % 10 ** (length - 1)).padStart(length - 1, '0');
  const digits = `${2 + (index % 7)}${rest}`;
  let used = 0;
  return form.replace('A', area).replace(/X/g, () => digits.charAt(used++));
}

function emailOf(random: Random, index: number, first: string, last: string): string {
  const name = `${slug(first).replace('-', '.')}.${slug(last).replace('-', '')}`;
  const address = `${name}${index}@${random.pick(['correo', 'mail', 'empresa'])}.example`;
  return random.chance(0.15) ? address.replace(/\b[a-z]/g, (letter) => letter.toUpperCase()) : address;
}

function handleOf(random: Random, index: number, language: Language, first: string): string {
  const ending = random.pick(names[language].handles);
  const handle = `${slug(first).replace('-', '')}${ending}${index}`;
  return random.pick([`@${handle}`, handle, handle.toUpperCase()]);
}

function contactOf(account: Account, random: Random, index: number, home: Home, area: string, who: string[]) {
  const [first = '', last = ''] = who;
  switch (account) {
    case 'whatsapp':
      return { identifierType: account, identifierValue: numberOf(random.pick(home.mobiles), area, index) };
    case 'hidden number':
      return {
        identifierType: 'whatsapp',
        identifierValue: `${home.code}.${(index + 3) * 1_000_000_007_001}`,
      };
    case 'instagram':
      return { identifierType: account, identifierValue: handleOf(random, index, home.language, first) };
    case 'messenger':
      return { identifierType: account, identifierValue: `${7_100_000_000_000_000 + index * 7_368_787}` };
    case 'email':
      return { identifierType: account, identifierValue: emailOf(random, index, first, last) };
    case 'telefono':
      return { identifierType: account, identifierValue: numberOf(home.landline, area, index + COUNT) };
    case 'web':
      return {
        identifierType: account,
        identifierValue: `visitor-${idOf(`web ${index}`, daysAgo(0)).slice(-12)}`,
      };
  }
}

function customerOf(index: number): DemoCustomer {
  const random = randomOf(`customer ${index}`);
  const home = homeOf(index);
  const { language } = home;
  const isLead = index % 9 === 4;
  const city = random.pick(home.cities);
  const first = random.pick(names[language].first);
  const last = random.pick(names[language].last);
  const [, tag = '', wish = ''] = random.pick(wishes.filter(([spoken]) => spoken === language));
  const since = daysAgo(560 - index * 1.37);
  const kinds = isLead ? at(leadAccounts, Math.floor(index / 9)) : at(accounts, index);
  const input = CustomerCreate.parse({
    firstName: isLead ? null : first,
    lastName: isLead || random.chance(0.1) ? null : last,
    city: isLead || random.chance(0.15) ? null : city.name,
    country: isLead && random.chance(0.7) ? null : home.country,
    preferredLanguage: isLead && random.chance(0.5) ? null : language,
    summary: isLead || random.chance(0.25) ? null : wish,
    tags: isLead ? ['lead'] : [tag, ...(index % 23 === 0 ? ['vip'] : [])],
    contacts: kinds.map((kind) => contactOf(kind, random, index, home, city.area, [first, last])),
  });
  return { id: index === 0 ? EXAMPLE_ID : idOf(`customer ${index}`, since), language, since, input };
}

/** The agency's 400 customers, oldest first. */
export const demoCustomers = (): DemoCustomer[] =>
  Array.from({ length: COUNT }, (_, index) => customerOf(index));
