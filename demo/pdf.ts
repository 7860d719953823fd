import PdfDocument from 'pdfkit';
import { texts } from './phrases.ts';
import { itineraryOf } from './products.ts';
import { calendarDate, plusDays } from './random.ts';
import type { DemoQuote } from './sales.ts';
import { type Language, locales } from './themes.ts';

/** The PDF files that go with quotes: what the customer is offered, its terms, and the voucher of a trip that was sold. */

type Kind = DemoQuote['attachments'][number]['kind'];

const kindTitles: Record<Language, Record<Kind, string>> = {
  es: { itinerary: 'Itinerario', terms: 'Condiciones', voucher: 'Voucher' },
  pt: { itinerary: 'Roteiro', terms: 'Condições', voucher: 'Voucher' },
  en: { itinerary: 'Itinerary', terms: 'Terms', voucher: 'Voucher' },
};

const labels: Record<
  Language,
  Record<'traveller' | 'people' | 'dates' | 'price' | 'day' | 'yes' | 'no' | 'terms' | 'seller', string>
> = {
  es: {
    traveller: 'Viajero principal',
    people: 'Viajeros',
    dates: 'Fechas',
    price: 'Precio total',
    day: 'Día',
    yes: 'Incluye',
    no: 'No incluye',
    terms: 'Condiciones',
    seller: 'Su asesor',
  },
  pt: {
    traveller: 'Viajante principal',
    people: 'Viajantes',
    dates: 'Datas',
    price: 'Valor total',
    day: 'Dia',
    yes: 'Inclui',
    no: 'Não inclui',
    terms: 'Condições',
    seller: 'Seu consultor',
  },
  en: {
    traveller: 'Lead traveller',
    people: 'Travellers',
    dates: 'Dates',
    price: 'Total price',
    day: 'Day',
    yes: 'Included',
    no: 'Not included',
    terms: 'Terms',
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

type Section = { heading: string; lines: readonly string[] };

function sectionsOf({ opportunity: { product } }: DemoQuote, kind: Kind): Section[] {
  const label = labels[product.language];
  const { includes, excludes, specialConditions } = product.input;
  const terms = {
    heading: label.terms,
    lines: specialConditions ? [specialConditions] : texts[product.language].conditions,
  };
  const included = { heading: label.yes, lines: includes ?? [] };
  if (kind === 'terms') return [{ heading: label.terms, lines: texts[product.language].conditions }];
  if (kind === 'voucher') return [included, terms];
  const days = itineraryOf(product).map((day, index) => ({
    heading: `${label.day} ${index + 1}`,
    lines: [day],
  }));
  return [...days, included, { heading: label.no, lines: excludes ?? [] }, terms];
}

const GREEN = '#1f5f5b';
const MARGIN = 56;

function draw(document: PDFKit.PDFDocument, quote: DemoQuote, kind: Kind): void {
  const { product, input } = quote.opportunity;
  document.rect(0, 0, document.page.width, 96).fill(GREEN);
  document.fill('white').font('Helvetica-Bold').fontSize(20);
  document.text(product.input.title, MARGIN, 28, {
    width: document.page.width - 2 * MARGIN,
    height: 24,
    ellipsis: true,
  });
  document.font('Helvetica').fontSize(11);
  document.text(
    `Rutas del Sur Viajes · ${kindTitles[product.language][kind]} · ${input.shortRef}`,
    MARGIN,
    62,
  );
  document.fill('black').fontSize(10);
  document.y = 116;
  for (const [name, value] of factsOf(quote)) {
    document.font('Helvetica-Bold').text(`${name}: `, { continued: true }).font('Helvetica').text(value);
  }
  for (const { heading, lines } of sectionsOf(quote, kind)) {
    document.moveDown(0.8).fill(GREEN).font('Helvetica-Bold').fontSize(11).text(heading);
    document.fill('black').font('Helvetica').fontSize(10);
    for (const line of lines) document.text(line, { lineGap: 2 });
  }
}

/** Makes the file: always the same bytes for the same quote, fonts from the PDF standard only. */
export async function pdfOf(quote: DemoQuote, kind: Kind): Promise<Buffer> {
  const { since, product } = quote.opportunity;
  const document = new PdfDocument({
    size: 'A4',
    margin: MARGIN,
    lang: product.language,
    info: { Title: fileNameOf(quote, kind), Author: 'Rutas del Sur Viajes', CreationDate: since },
  });
  const chunks: Buffer[] = [];
  document.on('data', (chunk: Buffer) => chunks.push(chunk));
  const written = new Promise((done, fail) => document.on('end', done).on('error', fail));
  draw(document, quote, kind);
  document.end();
  await written;
  return Buffer.concat(chunks);
}
