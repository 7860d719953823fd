declare const shape: unique symbol;

/** JSON of a `T`, as the bytes of a response. */
export type Json<T> = Buffer & { readonly [shape]: T };

export const parseJson = <T>(json: Json<T>): T => JSON.parse(json.toString());

export const jsonOf = <T>(text: string): Json<T> => Buffer.from(text) as Json<T>;

export const toJson = <T>(value: T): Json<T> => jsonOf(JSON.stringify(value));
