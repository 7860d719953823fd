declare const shape: unique symbol;

/** JSON of a `T`, as the bytes of a response. */
export type Json<T> = Buffer & { readonly [shape]: T };

export const parseJson = <T>(json: Json<T>): T => JSON.parse(json.toString());

export const jsonOf = <T>(text: string): Json<T> => Buffer.from(text) as Json<T>;

export const toJson = <T>(value: T): Json<T> => jsonOf(JSON.stringify(value));

const OPEN_LIST = Buffer.from('{"data":[');
const COMMA = Buffer.from(',');

/** A response with a list. Its records stay bytes: as text, one character beyond Latin-1 would double a page. */
export function jsonList<T>(records: readonly Json<unknown>[], end: string): Json<T> {
  const parts = records.flatMap((record, index) => (index > 0 ? [COMMA, record] : [record]));
  return Buffer.concat([OPEN_LIST, ...parts, Buffer.from(end)]) as Json<T>;
}
