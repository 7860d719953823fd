import { v7 } from 'uuid';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** A new id: a UUIDv7, so that ids grow with time and no sequence is needed. */
export const newId = (): string => v7();

export const isId = (text: string): boolean => UUID.test(text);

/** For filters: text that is no id of ours matches nothing, instead of being refused by the uuid type. */
export const idOrNone = (text: string | undefined): string | undefined =>
  text === undefined || isId(text) ? text : '00000000-0000-0000-0000-000000000000';
