import type { CatalogProductCreate, CustomerContactCreate, CustomerCreate } from '../../client/src/index.ts';
import {
  IMPORTED,
  type Importable,
  propertiesOf,
  resolved,
  type Schema,
  schemaOf,
  typesOf,
} from './document.ts';

/** The fields that a column can fill, and how a cell becomes a value. The document says which fields there are and of which kind. */

type Kind = 'text' | 'choice' | 'number' | 'list' | 'tags' | 'json' | 'contact';

type Field = {
  kind: Kind;
  /** Column names that mean this field, folded; its own name always does. */
  names: string[];
  /** The codes of a choice, each with the names that people write for it, folded. */
  codes: Record<string, string[]>;
};

/** A name's letters and digits, without accents and case. */
export const folded = (name: string): string =>
  name
    .normalize('NFD')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/g, '');

export type Fields = Record<string, Field>;

type ContactField = `contacts.${CustomerContactCreate['identifierType']}`;

const LANGUAGES: Record<NonNullable<CustomerCreate['preferredLanguage']>, string> = {
  es: 'espanol espanhol castellano spanish spa eses esmx esar esco escl espe',
  pt: 'portugues portuguese por ptbr ptpt',
  en: 'ingles english eng enus engb',
};

const TYPES: Record<NonNullable<CatalogProductCreate['type']>, string> = {
  package: 'paquete pacote',
  experience: 'experiencia',
  expedition: 'expedicion expedicao',
  custom: 'amedida personalizado sobmedida',
};

const STATUSES: Record<NonNullable<CatalogProductCreate['status']>, string> = {
  active: 'activo activa ativo ativa',
  paused: 'pausado pausada',
  draft: 'borrador rascunho',
};

const PRICING_MODES: Record<NonNullable<CatalogProductCreate['pricingMode']>, string> = {
  per_person: 'porpersona porpessoa',
  per_group: 'porgrupo',
  total: '',
};

const BUDGET_TIERS: Record<NonNullable<CatalogProductCreate['budgetTier']>, string> = {
  economic: 'economico economica economy',
  mid: 'medio media',
  premium: '',
};

/** Column names that mean a field, folded, between spaces; its own name always does. */
const NAMES: {
  customers: Partial<Record<keyof CustomerCreate | ContactField, string>>;
  products: Partial<Record<keyof CatalogProductCreate, string>>;
} = {
  customers: {
    'contacts.whatsapp': 'whatsapp wa wpp celular movil mobile cell cellphone',
    'contacts.telefono': 'telefono tel telefone phone phonenumber',
    'contacts.email': 'email mail correo correoelectronico emailaddress eemail',
    'contacts.instagram': 'instagram ig insta',
    'contacts.messenger': 'messenger facebook fb',
    'contacts.web': 'web visitor visitorid',
    firstName: 'nombre nombres nome name nombrecompleto nomecompleto fullname givenname',
    lastName: 'apellido apellidos sobrenome surname familyname',
    city: 'ciudad cidade town',
    country: 'pais',
    preferredLanguage: 'idioma language lang lingua',
    summary: 'notas nota notes note resumen resumo comentarios observaciones comments',
    tags: 'tag etiqueta etiquetas labels',
  },
  products: {
    title: 'titulo nombre nome name producto product produto',
    externalReferenceCode: 'codigo code sku referencia reference ref codigoexterno externalcode',
    type: 'tipo',
    status: 'estado situacao',
    pricingMode: 'modalidad modoprecio',
    budgetTier: 'gama categoria tier',
    capacityMin: 'capacidadminima minpax paxmin',
    capacityMax: 'capacidadmaxima maxpax paxmax capacidad',
    currency: 'moneda moeda divisa',
    fromPrice: 'precio preco price preciodesde desde tarifa',
    priceMax: 'preciomaximo precomaximo maxprice hasta',
    priceBasis: 'baseprecio base',
    durationDays: 'dias days duracion duracao duraciondias',
    durationHours: 'horas hours duracionhoras',
    shortDescription: 'descripcioncorta resumen resumo',
    description: 'descripcion descricao detalle',
    includes: 'incluye inclui included',
    excludes: 'noincluye naoinclui excluded',
    specialConditions: 'condiciones condicoes conditions',
    operator: 'operador proveedor supplier',
    validFrom: 'validodesde vigenciadesde desdefecha',
    validUntil: 'validohasta vigenciahasta vence validto',
    variants: 'variantes',
  },
};

/** Names for the codes of a closed list, folded, between spaces; a code's own name always means it. */
const CODES: Record<string, Record<string, string>> = {
  preferredLanguage: LANGUAGES,
  type: TYPES,
  status: STATUSES,
  pricingMode: PRICING_MODES,
  budgetTier: BUDGET_TIERS,
};

const words = (text = ''): string[] => text.split(' ').filter(Boolean);

function kindOf(name: string, schema: Schema): Kind {
  const { enum: codes, items } = resolved(schema);
  if (codes) return 'choice';
  const types = typesOf(schema);
  if (types.includes('array') && typesOf(items ?? {}).includes('string'))
    return name === 'tags' ? 'tags' : 'list';
  if (types.includes('integer') || types.includes('number')) return 'number';
  return types.includes('string') ? 'text' : 'json';
}

function fieldOf(name: string, schema: Schema, names: Record<string, string>): [string, Field] {
  const codes =
    resolved(schema)
      .enum?.filter((code) => code !== null)
      .map(String) ?? [];
  const spoken = Object.fromEntries(codes.map((code) => [code, words(CODES[name]?.[code])]));
  return [name, { kind: kindOf(name, schema), names: words(names[name]), codes: spoken }];
}

/** The fields that a row can fill; contacts have one for each channel. */
function fieldsOf(resource: Importable): Fields {
  const names: Record<string, string> = NAMES[resource];
  const fields = Object.entries(propertiesOf(schemaOf(IMPORTED[resource].created))).flatMap(
    ([name, schema]) => {
      if (name !== 'contacts') return [fieldOf(name, schema, names)];
      const channels = resolved(propertiesOf(schema).identifierType).enum ?? [];
      return channels.map((channel): [string, Field] => [
        `contacts.${channel}`,
        { kind: 'contact', names: words(names[`contacts.${channel}`]), codes: {} },
      ]);
    },
  );
  return Object.fromEntries(fields);
}

export const FIELDS = { customers: fieldsOf('customers'), products: fieldsOf('products') };

/** A cell that cannot be what its field needs. */
export class CellError extends Error {}

/** `1450.5`, `1,450.50`, `1e-7` or, where the comma is the decimal mark, `1450,5` and `1.450,50`. */
export function parseNumber(text: string, isDecimalComma: boolean): number {
  const plain = text.replaceAll(/[\s\u00a0]/g, '');
  const [group, mark] = isDecimalComma ? ['.', ','] : [',', '.'];
  const grouped = new RegExp(`^-?\\d{1,3}(\\${group}\\d{3})+(\\${mark}\\d+)?$`);
  const ungrouped = grouped.test(plain) ? plain.replaceAll(group, '') : plain;
  const decimal = ungrouped.replace(mark, '.');
  // Exports write a very large number as 1e+21; 1e5 may be a code.
  if (!/^-?\d+(\.\d+)?(e[+-]\d+)?$/.test(decimal))
    throw new CellError(`is not a number: ${JSON.stringify(text)}`);
  return Number(decimal);
}

/** A list in one cell: JSON, or entries between bars or lines (tags between commas and semicolons, too). */
export function parseList(text: string, separators: RegExp): string[] {
  if (text.startsWith('[')) {
    const list = parseJson(text);
    if (!Array.isArray(list) || !list.every((entry) => typeof entry === 'string'))
      throw new CellError('is not a list of strings');
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
    throw new CellError('is not JSON');
  }
}

const BARS = /[|\n]/;
const TAGS = /[|\n,;]/;

/** The value of a cell that is not empty. @throws CellError */
export function cellValue(
  { kind, codes }: Pick<Field, 'kind' | 'codes'>,
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
