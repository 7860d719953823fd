import { folded, NAMES } from './fields.ts';

/**
 * Exports of other products, recognized by their header row. In `names.json`, `signs` has sets of names, joined by +, of which
 * the header has one; the rest are the columns of each field, as patterns of folded names. `name` is a first name where there
 * is no other.
 */
const PRODUCTS = Object.entries(NAMES.exports).map(([name, { signs = '', ...fields }]) => ({
  name,
  signs: signs.split(' ').map((sign) => sign.split('+').map(whole)),
  fields: Object.entries(fields).map(([field, names]) => ({ field, pattern: whole(names) })),
}));

/** Numbers and addresses that are not the person's, or no contacts at all. */
const OF_OTHERS =
  /fax|owner|propietari|proprietari|duen[oa]|^dono|donodo|responsab|responsav|responsible|assistant|asistente|ayudante|ajudante|assistente|manager|gerente|vended[oe]r|asesor|assessor|ejecutiv|executiv|agent|atend|consultor|encargad|asignad|atribuid|assigned|assignee|seller|salesemail|salesphone|bookedby|referid|indicadopor|referredby|emergenc|conyuge|conjuge|spouse|espos[oa]|proveedor|fornecedor|supplier|salesrep|sdr|createdby|modifiedby|creadopor|criadopor|modificadopor|pager|telex|callback|isdn|radio|tty|companymainphone|centralita|recordid|displayname$|label$|type$|tipo$|^id$/;

/** Whether a column is of somebody else than the person of its row, such as the owner of the lead. */
export const isOfOthers = (header: string): boolean => OF_OTHERS.test(folded(header));

function whole(patterns: string): RegExp {
  return RegExp(`^(?:${patterns.replaceAll(' ', '|')})$`);
}

/** The product that wrote the file; `fieldOf` returns an empty text for a column that is left out on purpose. */
export function recognize(header: readonly string[]) {
  const names = header.map(folded);
  const product = PRODUCTS.find(({ signs }) =>
    signs.some((sign) => sign.every((pattern) => names.some((name) => pattern.test(name)))),
  );
  const fieldOf = (column: string) =>
    product?.fields.find(({ pattern }) => pattern.test(folded(column)))?.field ??
    (isOfOthers(column) ? '' : undefined);
  return product && { name: product.name, fieldOf };
}
