import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { contactKey, identifierRule } from '../../rules/contact-key.ts';
import { jsonBytes, largestPath, MAX_BYTES, sizeRule } from '../../rules/record-size.ts';
import { textRule } from '../../rules/text.ts';
import { type Body, type Contact, RowError } from './columns.ts';
import { IMPORTED, type Importable, schemas } from './document.ts';

/** What the service would reject in a body, found without the service: the rules of its document, of texts and of contacts. */

/** `/contacts/0/identifierValue` → `body.contacts[0].identifierValue` */
const pathOf = (pointer: string): string =>
  `body${pointer.replaceAll(/\/(\d+)(?=\/|$)/g, '[$1]').replaceAll('/', '.')}`;

/** The words of ajv, and those of the service. */
const WORDS: [RegExp, string][] = [
  [/NOT have more than/, 'have at most'],
  [/NOT have fewer than/, 'have at least'],
  [/items$/, 'entries'],
  [/>=/, 'at least'],
  [/<=/, 'at most'],
  [/>/, 'greater than'],
];

function rowErrorOf({ keyword, instancePath, params, message = '' }: ErrorObject): RowError {
  const path = pathOf(instancePath);
  switch (keyword) {
    case 'required':
      return new RowError('is required', { path: `${path}.${params.missingProperty}` });
    case 'additionalProperties':
      return new RowError('is unknown', { path: `${path}.${params.additionalProperty}` });
    case 'enum': {
      const values = params.allowedValues.filter((value: unknown) => value !== null);
      return new RowError(`must be one of ${values.join(', ')}`, { path });
    }
    case 'type':
      return new RowError(`must be ${[params.type].flat().join(' or ')}`, { path });
    default: {
      const text = WORDS.reduce((text, [ajv, ours]) => text.replace(ajv, ours), message);
      return new RowError(text, { path });
    }
  }
}

/** @throws RowError for the first text that PostgreSQL does not store */
function checkTexts(value: unknown, pointer = ''): void {
  if (typeof value === 'string') {
    const message = textRule(value);
    if (message !== undefined) throw new RowError(message, { path: pathOf(pointer) });
  } else if (typeof value === 'object' && value !== null)
    for (const [name, inner] of Object.entries(value)) checkTexts(inner, `${pointer}/${name}`);
}

/**
 * Returns a check of bodies by a schema of the document.
 * @throws Error for a schema with a keyword or format that nothing checks; the check throws a RowError
 */
function schemaChecker(): (schema: string, body: Body) => void {
  // The service rejects unknown fields, as the client asks for it.
  const closed = JSON.parse(JSON.stringify(schemas), (_name, value) =>
    value?.properties ? { ...value, additionalProperties: false } : value,
  );
  const ajv = new Ajv2020({ allowUnionTypes: true });
  ajv.addVocabulary(['components']);
  formats.default(ajv);
  ajv.addSchema({ $id: 'document', components: { schemas: closed } });
  return (schema, body) => {
    const validate = ajv.getSchema(`document#/components/schemas/${schema}`);
    if (!validate?.(body)) throw rowErrorOf(validate?.errors?.[0] as ErrorObject);
    checkTexts(body);
  };
}

function keyOf({ identifierType, identifierValue }: Contact, index: number): string {
  const key = contactKey(identifierType, identifierValue);
  if (key !== null) return `${identifierType} ${key}`;
  const path = `body.contacts[${index}].identifierValue`;
  throw new RowError(identifierRule(identifierType, identifierValue), { path });
}

/** The keys of the contacts of a body that nobody has checked. */
export const contactKeys = ({ contacts }: Body): string[] =>
  (Array.isArray(contacts) ? (contacts as Partial<Contact>[]) : []).flatMap((contact) => {
    const { identifierType, identifierValue } = contact ?? {};
    if (identifierType === undefined || typeof identifierValue !== 'string') return [];
    return `${identifierType} ${contactKey(identifierType, identifierValue)}`;
  });

/**
 * A check of the bodies of one file, each with its line.
 * @param isOnce whether a contact may be in one row only
 */
export function checker(
  resource: Importable,
  { isOnce }: { isOnce: boolean },
): (body: Body, line: number, options?: { isUpdate?: boolean }) => void {
  const lines = new Map<string, number>();
  const checkSchema = schemaChecker();
  return (body, line, { isUpdate = false } = {}) => {
    checkSchema(IMPORTED[resource][isUpdate ? 'updated' : 'created'], body);
    const kind = resource === 'products' ? 'product' : 'customer';
    if (jsonBytes(body) > MAX_BYTES[kind])
      throw new RowError(`is too long. ${sizeRule(kind)}`, { path: largestPath(body) });
    if (kind === 'product') return;
    const keys = ((body.contacts ?? []) as Contact[]).map(keyOf);
    for (const [index, key] of keys.entries()) {
      const path = `body.contacts[${index}]`;
      if (keys.indexOf(key) < index) throw new RowError('is in the row twice', { path });
      const earlier = lines.get(key);
      if (isOnce && earlier !== undefined) throw new RowError(`is also in line ${earlier}`, { path });
    }
    for (const key of keys) lines.set(key, line);
  };
}
