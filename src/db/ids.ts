import { v7 } from 'uuid';

/** The form of a UUID, for patterns; with no flag, so that the documents can show it. */
export const UUID = '[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}';
const WHOLE = new RegExp(`^${UUID}$`);

/** A new id: a UUIDv7, so that ids grow with time and no sequence is needed. */
export const newId = (): string => v7();

export const isId = (text: string): boolean => WHOLE.test(text);

/** For filters: text that is no id of ours matches nothing, instead of being refused by the uuid type. */
export const idOrNone = (text: string | undefined): string | undefined =>
  text === undefined || isId(text) ? text : '00000000-0000-0000-0000-000000000000';
