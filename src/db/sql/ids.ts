import { v7 } from 'uuid';

/** The form of a UUID, for patterns. It has no flag, so that the documents can show it. */
export const UUID = '[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}';
const WHOLE = new RegExp(`^${UUID}$`);

/** A new UUIDv7. Such ids grow with time, and need no sequence. */
export const newId = (): string => v7();

export const isId = (text: string): boolean => WHOLE.test(text);

/** Names a record among those of all organizations: two of them may have the same ids. */
export const idAmongAll = ({ organizationId, id }: { organizationId: string; id: string }): string =>
  `${organizationId} ${id}`;

/** For filters: text that is no id becomes null, which equals no id. The uuid type would refuse the text. */
export const idOrNull = (text: string): string | null => (isId(text) ? text : null);
