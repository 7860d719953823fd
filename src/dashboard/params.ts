import { z } from 'zod';
import { dateTime, field, id, pathId, uuid } from '../contract/fields.ts';

/** Every params schema has it: a route gets only what its schema names. */
const organizationId = () => pathId('Id of the organization.');

export const OrganizationParams = z.object({ organizationId: organizationId() });

/** For ids that we generate. Any other text is 404. */
export const knownParams = <const Name extends string>(name: Name, description: string) =>
  z.object({ organizationId: organizationId(), [name]: pathId(description) } as {
    organizationId: z.ZodString;
  } & Record<Name, z.ZodString>);

/** For ids that the caller generates. Any other text is 400. */
export const uuidParams = <const Name extends string>(...names: Name[]) =>
  z.object({
    organizationId: organizationId(),
    ...Object.fromEntries(
      names.map((name) => [name, uuid().describe('A UUID that you generate, one for each record.')]),
    ),
  } as { organizationId: z.ZodString } & Record<Name, z.ZodString>);

export const ArchivedRecord = z
  .object({
    id: field(id(), 'Opaque, immutable identifier.'),
    archivedAt: field(dateTime(), 'When the record was archived.'),
  })
  .meta({ id: 'ArchivedRecord' });
