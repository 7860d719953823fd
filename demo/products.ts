import { z } from 'zod';
import { CatalogProductCreate } from '../src/catalog/schema.ts';
import { EXAMPLE_ID } from '../src/contract/fields.ts';
import { catalog } from './catalog.ts';
import { texts } from './phrases.ts';
import { at, calendarDate, daysAgo, idOf, listOf, plusDays, type Random, randomOf } from './random.ts';
import { type Language, type Theme, themes } from './themes.ts';

export type DemoProduct = {
  id: string;
  code: string;
  language: Language;
  theme: Theme;
  /** null if the duration is in hours, or the trip is custom. */
  days: number | null;
  stops: string[];
  since: Date;
  input: CatalogProductCreate;
  /** The fields that the dashboard adds to a product. */
  media: { coverImage: string; gallery: string[]; destinations: string[] };
};

/** The product in the examples of the OpenAPI document. */
const EXAMPLE = 'MEX-001';

const IMAGES = 'https://images.rutasdelsur.example';

const operators: Record<string, readonly string[]> = {
  MEX: ['Mundo Maya Receptivo', 'Sierra y Mar DMC', 'Operadora Anáhuac'],
  ARG: ['Cordillera Receptivo', 'Lagos del Sur EVT'],
  PAT: ['Paine & Fitz Roy Expeditions'],
  CHI: ['Andes Austral DMC'],
  BRA: ['Brasil Afora Receptivo', 'Trilhas do Cerrado', 'Costa Verde Turismo'],
  PER: ['Qosqo Receptivo', 'Apu Travel Perú'],
  COL: ['Caribe y Café DMC'],
  LAT: ['Centro Andino Operadores'],
  EUR: ['Iberia Rail & Stay'],
  JPN: ['Nihon Latino Travel'],
};

const Row = z.tuple([
  z.string(),
  z.enum(['es', 'pt', 'en']),
  z.enum(['package', 'experience', 'expedition', 'custom']),
  z.string(),
  z.enum(['per_person', 'per_group', 'total']),
  z.string().nullable(),
  z.enum(['beach', 'nature', 'culture', 'city', 'taste', 'snow', 'family']),
  z.string().nullable(),
  z.string().nullable(),
  z.string().nullable(),
  z.string().nullable(),
]);

/** `bogota` for `Bogotá`; words are joined by dashes. */
export const slug = (text: string): string =>
  text
    .normalize('NFD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '');

const roundedTo = (price: number, factor: number): number => {
  const step = price > 100_000 ? 10_000 : price > 1_000 ? 50 : 5;
  return Math.round((price * factor) / step) * step;
};

const taken = <Item>(random: Random, items: readonly Item[], least: number): Item[] =>
  items.slice(0, random.int(least, items.length));

function variantsOf(random: Random, { language, type, fromPrice, days }: Facts) {
  const { variants, includes } = texts[language];
  const group = (least: number, most: number) => (type === 'package' ? null : random.int(least, most));
  return taken(random, variants[type], type === 'custom' ? 0 : 1).map(
    ([label, description, factor], index) => ({
      label,
      description,
      shortDescription: index === 0 ? label : null,
      status: index === 0 ? 'active' : random.pick(['active', 'active', 'active', 'paused', 'draft']),
      fromPrice: fromPrice && roundedTo(fromPrice, factor),
      priceMax: fromPrice && index > 0 ? roundedTo(fromPrice, factor * 1.2) : null,
      durationDays: days,
      capacityMin: group(1, 4),
      capacityMax: group(6, 12),
      includes: index === 3 ? includes.slice(0, 2) : [],
    }),
  );
}

/** A product from its two lines of the catalog. */
function read(head: string, tail: string) {
  const [facts = '', places = ''] = head.split(' | ');
  const [title = '', highlight = ''] = tail.trim().split(' | ');
  const [code, language, type, status, pricingMode, tier, theme, currency, from, upTo, length] = Row.parse(
    facts.split(' ').map((fact) => (fact === '-' ? null : fact)),
  );
  const measure = Number.parseFloat(length ?? '');
  return {
    ...{ code, language, type, status, pricingMode, tier, theme, currency, title, highlight },
    fromPrice: from && Number(from),
    priceMax: upTo && Number(upTo),
    days: length?.endsWith('d') ? measure : null,
    hours: length?.endsWith('h') ? measure : null,
    stops: listOf(places),
  };
}

type Facts = ReturnType<typeof read>;

function describe({ language, theme, highlight, days, hours, stops }: Facts): string {
  const { logistics, hours: lasting, bespoke } = texts[language];
  const places = new Intl.ListFormat(language).format(stops);
  const measure = days ? logistics(days, places) : hours ? lasting(hours, at(stops, 0)) : bespoke;
  return `${highlight}\n\n${themes[language][theme].mood} ${measure}`;
}

function inputOf(facts: Facts, random: Random): CatalogProductCreate {
  const { code, language, type, pricingMode, days, fromPrice } = facts;
  const words = texts[language];
  const operated = operators[code.slice(0, 3)];
  const isGrouped = type !== 'package' || pricingMode === 'per_group';
  const isOuting = facts.hours !== null;
  const opens = plusDays(daysAgo(0), random.int(-60, 40));
  return CatalogProductCreate.parse({
    title: facts.title,
    type,
    status: facts.status,
    pricingMode,
    budgetTier: facts.tier,
    currency: facts.currency,
    shortDescription: facts.highlight,
    description: describe(facts),
    specialConditions: random.chance(0.8) ? random.pick(words.conditions) : null,
    operator: operated ? random.pick(operated) : null,
    priceBasis: fromPrice
      ? words.basis[isOuting && pricingMode === 'per_person' ? 'outing' : pricingMode]
      : null,
    externalReferenceCode: code,
    durationDays: days,
    durationHours: facts.hours,
    capacityMin: isGrouped ? random.int(1, 4) : null,
    capacityMax: isGrouped ? random.int(6, 16) : null,
    includes: taken(random, isOuting ? words.outing : words.includes, 3),
    excludes: taken(random, words.excludes, 2),
    fromPrice,
    priceMax: facts.priceMax,
    validFrom: days ? calendarDate(opens) : null,
    validUntil: days ? calendarDate(plusDays(opens, random.int(180, 420))) : null,
    variants: variantsOf(random, facts),
  });
}

function productOf(head: string, tail: string): DemoProduct {
  const facts = read(head, tail);
  const { code, language, theme, days, stops, title } = facts;
  const random = randomOf(code);
  const image = (name: string) => `${IMAGES}/${slug(title)}/${name}.jpg`;
  const since = daysAgo(random.int(40, 700));
  return {
    id: code === EXAMPLE ? EXAMPLE_ID : idOf(`product ${code}`, since),
    since,
    ...{ code, language, theme, days, stops },
    input: inputOf(facts, random),
    media: {
      coverImage: image('cover'),
      gallery: stops.map((stop) => image(slug(stop))),
      destinations: stops,
    },
  };
}

/** The agency's 60 products, in the order of the catalog. */
export function demoProducts(): DemoProduct[] {
  const lines = catalog.trim().split('\n');
  return lines.flatMap((line, index) => (index % 2 === 0 ? [productOf(line, lines[index + 1] ?? '')] : []));
}

/** The program of each day of a trip. */
export function itineraryOf({ language, theme, days, stops }: DemoProduct): string[] {
  const { arrival, departure } = texts[language];
  const { days: activities } = themes[language][theme];
  const length = days ?? 1;
  return Array.from({ length }, (_, day) => {
    const place = at(stops, Math.floor((day * stops.length) / length));
    const activity = `${place}: ${at(activities, day)}`;
    if (length === 1) return activity;
    return day === 0
      ? arrival(place)
      : day === length - 1
        ? departure(at(stops, stops.length - 1))
        : activity;
  });
}
