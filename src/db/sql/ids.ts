import { v7 } from 'uuid';
import { UUID } from '../../contract/fields.ts';

const WHOLE = new RegExp(`^${UUID}$`);

/** Sorts before every other id. */
export const NO_ID = '00000000-0000-0000-0000-000000000000';

export const newId = (): string => v7();

export const isId = (text: string): boolean => WHOLE.test(text);
