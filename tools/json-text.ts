/** Columns. Most fields and errors fit, with their words and examples. */
const WIDTH = 180;

const onOneLine = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(onOneLine).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const fields = Object.entries(value).map(([key, field]) => `${JSON.stringify(key)}: ${onOneLine(field)}`);
  return fields.length === 0 ? '{}' : `{ ${fields.join(', ')} }`;
};

/** The headers of an answer: names that say all. */
const areHeaders = (value: object): boolean =>
  Object.values(value).every((part) => `${part?.$ref}`.startsWith('#/components/headers/'));

/**
 * JSON for files that people review: what fits into a line has one, so a change shows with what it belongs to.
 * @param taken columns of the first line before the value
 */
export function jsonText(value: unknown, taken = 0, indent = ''): string {
  const line = onOneLine(value);
  if (typeof value !== 'object' || value === null) return line;
  if (indent.length + taken + line.length <= WIDTH || areHeaders(value)) return line;
  const deeper = `${indent}  `;
  const isList = Array.isArray(value);
  const parts = Object.entries(value).map(([key, part]) => {
    const name = isList ? '' : `${JSON.stringify(key)}: `;
    return `${deeper}${name}${jsonText(part, name.length, deeper)}`;
  });
  return `${isList ? '[' : '{'}\n${parts.join(',\n')}\n${indent}${isList ? ']' : '}'}`;
}

/** The same with a line for each entry, whatever its length: for what programs read, and people only where it changed. */
export const linePerEntry = (named: object): string =>
  `{\n${Object.entries(named)
    .map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`)
    .join(',\n')}\n}`;
