/** A PDF string, in the Latin letters of its standard fonts. */
const pdfText = (text: string): string =>
  `(${text
    .replaceAll('–', '-')
    .replaceAll('—', '-')
    .replace(/[()\\]/g, '\\$&')})`;

/** Lines of at most 95 characters. */
const wrapped = (text: string): string[] => text.match(/\S.{0,94}(?=\s|$)/g) ?? [''];

/** A file of one page: the same bytes for the same texts, with standard fonts only. */
export function pdfOf({ title, lines }: { title: string; lines: readonly string[] }): Buffer {
  const text = lines
    .flatMap(wrapped)
    .map((line) => `${pdfText(line)} '`)
    .join('\n');
  const content = `BT /F1 16 Tf 20 TL 56 760 Td ${pdfText(title)} Tj /F1 10 Tf\n${text}\nET`;
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
