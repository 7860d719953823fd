import { texts } from './phrases.ts';
import { itineraryOf } from './products.ts';
import { calendarDate, plusDays } from './random.ts';
import type { DemoQuote } from './sales.ts';
import { type Language, locales } from './themes.ts';

/** The PDF attachments of quotes: one page with the traveller, the price, and the itinerary or the terms. */

type Kind = DemoQuote['attachments'][number]['kind'];

const kindTitles: Record<Language, Record<Kind, string>> = {
  es: { itinerary: 'Itinerario', terms: 'Condiciones', voucher: 'Voucher' },
  pt: { itinerary: 'Roteiro', terms: 'Condições', voucher: 'Voucher' },
  en: { itinerary: 'Itinerary', terms: 'Terms', voucher: 'Voucher' },
};

const labels: Record<Language, Record<'traveller' | 'people' | 'dates' | 'price' | 'seller', string>> = {
  es: {
    traveller: 'Viajero principal',
    people: 'Viajeros',
    dates: 'Fechas',
    price: 'Precio total',
    seller: 'Su asesor',
  },
  pt: {
    traveller: 'Viajante principal',
    people: 'Viajantes',
    dates: 'Datas',
    price: 'Valor total',
    seller: 'Seu consultor',
  },
  en: {
    traveller: 'Lead traveller',
    people: 'Travellers',
    dates: 'Dates',
    price: 'Total price',
    seller: 'Your trip designer',
  },
};

/** `Itinerario Cancún e Isla Mujeres OP-1042.pdf` */
export const fileNameOf = ({ opportunity: { product, input } }: DemoQuote, kind: Kind): string =>
  `${kindTitles[product.language][kind]} ${product.input.title.split(':')[0]} ${input.shortRef}.pdf`;

function factsOf({ opportunity, input }: DemoQuote): [string, string][] {
  const { customer, product, travellers, checkIn, seller } = opportunity;
  const label = labels[product.language];
  const back = plusDays(checkIn, (product.days ?? 1) - 1);
  const { firstName, lastName } = customer.input;
  return [
    [label.traveller, [firstName, lastName].filter(Boolean).join(' ') || '—'],
    [label.people, String(travellers)],
    [label.dates, `${calendarDate(checkIn)} – ${calendarDate(back)}`],
    [
      label.price,
      input.price ? `${input.currency} ${input.price.toLocaleString(locales[product.language])}` : '—',
    ],
    [label.seller, `${seller.input.name}, ${seller.input.email}`],
  ];
}

/** A PDF string, in the Latin letters of its standard fonts. */
const pdfText = (text: string): string =>
  `(${text
    .replaceAll('–', '-')
    .replaceAll('—', '-')
    .replace(/[()\\]/g, '\\$&')})`;

/** Lines of at most 95 characters. */
const wrapped = (text: string): string[] => text.match(/\S.{0,94}(?=\s|$)/g) ?? [];

/** Generates the file: the same bytes for the same quote, with standard fonts only. */
export function pdfOf(quote: DemoQuote, kind: Kind): Buffer {
  const { product, input } = quote.opportunity;
  const subtitle = `Rutas del Sur Viajes · ${kindTitles[product.language][kind]} · ${input.shortRef}`;
  const facts = factsOf(quote).map(([name, value]) => `${name}: ${value}`);
  const text = kind === 'itinerary' ? itineraryOf(product) : texts[product.language].conditions;
  const lines = [subtitle, '', ...facts, '', ...text.flatMap(wrapped)]
    .map((line) => `${pdfText(line)} '`)
    .join('\n');
  const content = `BT /F1 16 Tf 20 TL 56 760 Td ${pdfText(product.input.title)} Tj /F1 10 Tf\n${lines}\nET`;
  const objects = [
    '<</Type/Catalog/Pages 2 0 R>>',
    '<</Type/Pages/Kids[3 0 R]/Count 1>>',
    '<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>',
    `<</Length ${content.length}>>stream\n${content}\nendstream`,
    '<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>',
  ];
  let file = '%PDF-1.4\n';
  const offsets = objects.map((object, index) => {
    const offset = file.length;
    file += `${index + 1} 0 obj${object}endobj\n`;
    return `${String(offset).padStart(10, '0')} 00000 n \n`;
  });
  const table = `xref\n0 6\n0000000000 65535 f \n${offsets.join('')}`;
  return Buffer.from(
    `${file}${table}trailer<</Size 6/Root 1 0 R>>\nstartxref\n${file.length}\n%%EOF\n`,
    'latin1',
  );
}
