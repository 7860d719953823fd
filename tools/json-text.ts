/** Columns. Most fields and errors fit, with their descriptions and examples. */
const WIDTH = 180;

const onOneLine = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(onOneLine).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const fields = Object.entries(value).map(([key, field]) => `${JSON.stringify(key)}: ${onOneLine(field)}`);
  return fields.length === 0 ? '{}' : `{ ${fields.join(', ')} }`;
};

/** The headers of a response, whose names say enough. */
const areHeaders = (value: object): boolean =>
  Object.values(value).every((part) => `${part?.$ref}`.startsWith('#/components/headers/'));

/**
 * JSON for files that people review: a value that fits is on one line, so that a diff shows it whole.
 * @param taken columns before the value in the first line
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

/** JSON with one line for each entry, however long: for programs, and for people who read the diff. */
export const linePerEntry = (named: object): string =>
  `{\n${Object.entries(named)
    .map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`)
    .join(',\n')}\n}`;
