import { contactKey, type IdentifierType, identifierRule } from '../../rules/contact-key.ts';
import { textFault } from '../../rules/product-text.ts';
import { type Body, RowError } from './columns.ts';
import { IMPORTED, type Importable, resolved, type Schema, typesOf } from './document.ts';

/** What the service would refuse of a body, found without it: the rules of its document, and its own for contacts and sizes. */

const typeOf = (value: unknown): string =>
  value === null
    ? 'null'
    : Array.isArray(value)
      ? 'array'
      : Number.isInteger(value)
        ? 'integer'
        : typeof value;

function range(size: number, least = 0, most = Number.POSITIVE_INFINITY): string | undefined {
  if (size < least) return `at least ${least}`;
  return size > most ? `at most ${most}` : undefined;
}

type Fault = { path: string; message: string };

/** The first fault. */
function faultOf(value: unknown, given: Schema, path: string): Fault | undefined {
  const schema = resolved(given);
  const inner = (part: unknown, of: Schema | undefined, at: string): Fault | undefined =>
    of && faultOf(part, of, at);
  const fault = (message: string): Fault => ({ path, message });
  const types = typesOf(schema);
  const type = typeOf(value);
  if (!types.includes(type) && !(type === 'integer' && types.includes('number')))
    return fault(`must be ${types.join(' or ')}`);
  if (schema.enum && !schema.enum.includes(value))
    return fault(`must be one of ${schema.enum.filter((one) => one !== null).join(', ')}`);
  if (typeof value === 'string') {
    if (/[\0\p{Cs}]/u.test(value)) return fault('must not contain U+0000 or a lone surrogate');
    const bound = range([...value].length, schema.minLength, schema.maxLength);
    return bound === undefined ? undefined : fault(`must have ${bound} characters`);
  }
  if (typeof value === 'number') {
    const { exclusiveMinimum: above } = schema;
    const bound = range(value, schema.minimum, schema.maximum);
    if (above !== undefined && value <= above) return fault(`must be greater than ${above}`);
    return bound === undefined ? undefined : fault(`must be ${bound}`);
  }
  if (Array.isArray(value)) {
    const bound = range(value.length, schema.minItems, schema.maxItems);
    if (bound) return fault(`must have ${bound} entries`);
    return value.map((entry, index) => inner(entry, schema.items, `${path}[${index}]`)).find(Boolean);
  }
  if (typeof value !== 'object' || value === null) return undefined;
  const { properties = {}, required = [] } = schema;
  const missing = required.find((name) => !(name in value));
  if (missing !== undefined) return { path: `${path}.${missing}`, message: 'is required' };
  return Object.entries(value)
    .map(([name, part]) =>
      name in properties
        ? inner(part, properties[name], `${path}.${name}`)
        : { path: `${path}.${name}`, message: 'is not a known name' },
    )
    .find(Boolean);
}

/**
 * A check of the bodies of one file, each with its line.
 * @param isOnce whether a contact may stand in one row only
 */
export function checker(
  resource: Importable,
  { isOnce }: { isOnce: boolean },
): (body: Body, line: number, options?: { isEdited: boolean }) => void {
  const lines = new Map<string, number>();
  const { written } = IMPORTED[resource];
  return (body, line, { isEdited } = { isEdited: false }) => {
    const fault = faultOf(body, isEdited ? { ...resolved(written), required: [] } : written, 'body');
    if (fault) throw new RowError(fault.message, fault);
    if (resource === 'products') {
      const tooLong = textFault(body);
      if (tooLong) throw new RowError(tooLong.message, { path: `body.${tooLong.path.join('.')}` });
      return;
    }
    const contacts = (body.contacts ?? []) as { identifierType: IdentifierType; identifierValue: string }[];
    const keys = contacts.map(({ identifierType, identifierValue }, index) => {
      const key = contactKey(identifierType, identifierValue);
      if (key === null)
        throw new RowError(identifierRule(identifierType, identifierValue), {
          path: `body.contacts[${index}].identifierValue`,
        });
      return `${identifierType} ${key}`;
    });
    for (const [index, key] of keys.entries()) {
      const path = `body.contacts[${index}]`;
      if (keys.indexOf(key) < index) throw new RowError('stands in the row twice', { path });
      const earlier = lines.get(key);
      if (isOnce && earlier !== undefined) throw new RowError(`stands in line ${earlier}, too`, { path });
    }
    for (const key of keys) lines.set(key, line);
  };
}
