import type { CatalogProductCreate, CustomerContactCreate, CustomerCreate } from '../../client/src/index.ts';

/** What a column can fill, and how a cell becomes a value. */

type Kind = 'text' | 'choice' | 'integer' | 'number' | 'list' | 'tags' | 'json' | 'contact';

type Field = {
  kind: Kind;
  /** Column names that mean this field, folded; its own name always does. */
  names: string[];
  /** The codes of a choice, each with the names that people write for it, folded. */
  codes?: Record<string, string[]>;
};

/** What of a name decides: letters and digits without accents and case. */
export const folded = (name: string): string =>
  name
    .normalize('NFD')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/g, '');

export type Fields = Record<string, Field>;

type ContactField = `contacts.${CustomerContactCreate['identifierType']}`;

const LANGUAGES: Record<NonNullable<CustomerCreate['preferredLanguage']>, string[]> = {
  es: ['espanol', 'espanhol', 'castellano', 'spanish', 'spa', 'eses', 'esmx', 'esar', 'esco', 'escl', 'espe'],
  pt: ['portugues', 'portuguese', 'por', 'ptbr', 'ptpt'],
  en: ['ingles', 'english', 'eng', 'enus', 'engb'],
};

const TYPES: Record<NonNullable<CatalogProductCreate['type']>, string[]> = {
  package: ['paquete', 'pacote'],
  experience: ['experiencia'],
  expedition: ['expedicion', 'expedicao'],
  custom: ['amedida', 'personalizado', 'sobmedida'],
};

const STATUSES: Record<NonNullable<CatalogProductCreate['status']>, string[]> = {
  active: ['activo', 'activa', 'ativo', 'ativa'],
  paused: ['pausado', 'pausada'],
  draft: ['borrador', 'rascunho'],
};

const PRICING_MODES: Record<NonNullable<CatalogProductCreate['pricingMode']>, string[]> = {
  per_person: ['porpersona', 'porpessoa'],
  per_group: ['porgrupo'],
  total: [],
};

const BUDGET_TIERS: Record<NonNullable<CatalogProductCreate['budgetTier']>, string[]> = {
  economic: ['economico', 'economica', 'economy'],
  mid: ['medio', 'media'],
  premium: [],
};

const CUSTOMER: Record<Exclude<keyof CustomerCreate, 'contacts'> | ContactField, Field> = {
  'contacts.whatsapp': {
    kind: 'contact',
    names: ['whatsapp', 'wa', 'wpp', 'celular', 'movil', 'mobile', 'cell', 'cellphone'],
  },
  'contacts.telefono': { kind: 'contact', names: ['telefono', 'tel', 'telefone', 'phone', 'phonenumber'] },
  'contacts.email': {
    kind: 'contact',
    names: ['email', 'mail', 'correo', 'correoelectronico', 'emailaddress', 'eemail'],
  },
  'contacts.instagram': { kind: 'contact', names: ['instagram', 'ig', 'insta'] },
  'contacts.messenger': { kind: 'contact', names: ['messenger', 'facebook', 'fb'] },
  'contacts.web': { kind: 'contact', names: ['web', 'visitor', 'visitorid'] },
  firstName: {
    kind: 'text',
    names: ['nombre', 'nombres', 'nome', 'name', 'nombrecompleto', 'nomecompleto', 'fullname', 'givenname'],
  },
  lastName: { kind: 'text', names: ['apellido', 'apellidos', 'sobrenome', 'surname', 'familyname'] },
  city: { kind: 'text', names: ['ciudad', 'cidade', 'town'] },
  country: { kind: 'text', names: ['pais'] },
  preferredLanguage: { kind: 'choice', codes: LANGUAGES, names: ['idioma', 'language', 'lang', 'lingua'] },
  summary: {
    kind: 'text',
    names: [
      'notas',
      'nota',
      'notes',
      'note',
      'resumen',
      'resumo',
      'comentarios',
      'observaciones',
      'comments',
    ],
  },
  tags: { kind: 'tags', names: ['tag', 'etiqueta', 'etiquetas', 'labels'] },
};

const PRODUCT: Record<keyof CatalogProductCreate, Field> = {
  title: { kind: 'text', names: ['titulo', 'nombre', 'nome', 'name', 'producto', 'product', 'produto'] },
  externalReferenceCode: {
    kind: 'text',
    names: ['codigo', 'code', 'sku', 'referencia', 'reference', 'ref', 'codigoexterno', 'externalcode'],
  },
  type: { kind: 'choice', codes: TYPES, names: ['tipo'] },
  status: { kind: 'choice', codes: STATUSES, names: ['estado', 'situacao'] },
  pricingMode: { kind: 'choice', codes: PRICING_MODES, names: ['modalidad', 'modoprecio'] },
  budgetTier: { kind: 'choice', codes: BUDGET_TIERS, names: ['gama', 'categoria', 'tier'] },
  capacityMin: { kind: 'integer', names: ['capacidadminima', 'minpax', 'paxmin'] },
  capacityMax: { kind: 'integer', names: ['capacidadmaxima', 'maxpax', 'paxmax', 'capacidad'] },
  currency: { kind: 'text', names: ['moneda', 'moeda', 'divisa'] },
  fromPrice: { kind: 'number', names: ['precio', 'preco', 'price', 'preciodesde', 'desde', 'tarifa'] },
  priceMax: { kind: 'number', names: ['preciomaximo', 'precomaximo', 'maxprice', 'hasta'] },
  priceBasis: { kind: 'text', names: ['baseprecio', 'base'] },
  durationDays: { kind: 'integer', names: ['dias', 'days', 'duracion', 'duracao', 'duraciondias'] },
  durationHours: { kind: 'number', names: ['horas', 'hours', 'duracionhoras'] },
  shortDescription: { kind: 'text', names: ['descripcioncorta', 'resumen', 'resumo'] },
  description: { kind: 'text', names: ['descripcion', 'descricao', 'detalle'] },
  includes: { kind: 'list', names: ['incluye', 'inclui', 'included'] },
  excludes: { kind: 'list', names: ['noincluye', 'naoinclui', 'excluded'] },
  specialConditions: { kind: 'text', names: ['condiciones', 'condicoes', 'conditions'] },
  operator: { kind: 'text', names: ['operador', 'proveedor', 'supplier'] },
  validFrom: { kind: 'text', names: ['validodesde', 'vigenciadesde', 'desdefecha'] },
  validUntil: { kind: 'text', names: ['validohasta', 'vigenciahasta', 'vence', 'validto'] },
  variants: { kind: 'json', names: ['variantes'] },
};

export const FIELDS = { customers: CUSTOMER as Fields, products: PRODUCT as Fields };

export type Importable = keyof typeof FIELDS;

/** A cell that cannot be what its field needs. */
export class CellError extends Error {}

/** `1450.5`, `1,450.50`, `1e-7` or, where the comma is the decimal mark, `1450,5` and `1.450,50`. */
export function parseNumber(text: string, isDecimalComma: boolean): number {
  const plain = text.replaceAll(/[\s\u00a0]/g, '');
  const [group, mark] = isDecimalComma ? ['.', ','] : [',', '.'];
  const grouped = new RegExp(`^-?\\d{1,3}(\\${group}\\d{3})+(\\${mark}\\d+)?$`);
  const ungrouped = grouped.test(plain) ? plain.replaceAll(group, '') : plain;
  const decimal = ungrouped.replace(mark, '.');
  // A very large or small number is written as 1e+21; 1e5 may be a code.
  if (!/^-?\d+(\.\d+)?(e[+-]\d+)?$/.test(decimal))
    throw new CellError(`is no number: ${JSON.stringify(text)}`);
  return Number(decimal);
}

/** A list in one cell: JSON, or entries between bars or lines (tags between commas and semicolons, too). */
export function parseList(text: string, separators: RegExp): string[] {
  if (text.startsWith('[')) {
    const list = parseJson(text);
    if (!Array.isArray(list) || !list.every((entry) => typeof entry === 'string'))
      throw new CellError('is no list of texts');
    return list;
  }
  return text
    .split(separators)
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new CellError('is no JSON');
  }
}

const BARS = /[|\n]/;
const TAGS = /[|\n,;]/;

/** The value of a cell that is not empty. @throws CellError */
export function cellValue(
  { kind, codes = {} }: Pick<Field, 'kind' | 'codes'>,
  text: string,
  isDecimalComma: boolean,
): unknown {
  switch (kind) {
    case 'choice': {
      const name = folded(text);
      const known = Object.entries(codes).find(
        ([code, names]) => folded(code) === name || names.includes(name),
      );
      return known?.[0] ?? text.toLowerCase();
    }
    case 'integer':
    case 'number':
      return parseNumber(text, isDecimalComma);
    case 'list':
      return parseList(text, BARS);
    case 'contact':
      return parseList(text, BARS);
    case 'tags':
      return parseList(text, TAGS);
    case 'json':
      return parseJson(text);
    default:
      return text;
  }
}

/** The cell of a list that `parseList` reads back as it was; undefined for an empty one. */
export function listCell(list: readonly string[]): string | undefined {
  if (list.length === 0) return undefined;
  const isPlain = list.every((entry) => entry !== '' && entry === entry.trim() && !/[|\n,;]|^\[/.test(entry));
  return isPlain ? list.join(' | ') : JSON.stringify(list);
}
