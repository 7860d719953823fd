import { z } from 'zod';
import { dateTime, NULL_CLEARS, object, recordId, uuid } from '../contract/fields.ts';

/** What the routes of several resources say in the same words. */

export const json = (schema: z.ZodType, description: string): object => ({
  description,
  content: { 'application/json': { schema } },
});

const CHANGED = `Changes only the fields that you send; ${NULL_CLEARS}. A text or a list replaces what was there. If nothing differs, nothing changes`;

export const CHANGES = `${CHANGED}, and \`updatedAt\` stays as it is.`;

/** Of a record that does not show its `updatedAt`. */
export const CHANGES_ONLY = `${CHANGED}.`;

export const REPLACES = 'Omitted fields take the default. Sending the same again changes nothing.';

/** The response to a DELETE of the dashboard API. */
export const ArchivedRecord = object('ArchivedRecord', {
  id: recordId(),
  archivedAt: dateTime().describe('When the record was archived.'),
});

/** For ids that the caller generates. Any other text is 400. */
export const uuidParams = <const Name extends string>(...names: Name[]) =>
  z.object(
    Object.fromEntries(
      names.map((name) => [name, uuid().describe('A UUID that you generate, one for each record.')]),
    ) as Record<Name, z.ZodString>,
  );
