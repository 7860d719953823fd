import { z } from 'zod';
import { dateTime, field, id, pastTimestamp, pathId, uuid } from '../contract/fields.ts';

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

/** `createdAt` in a PUT: records from another system keep their dates. */
export const createdOnce = () =>
  pastTimestamp()
    .optional()
    .describe('At most a day ahead; default: now. Written once: another value later is rejected.');

type Patched<Shape extends z.ZodRawShape> = {
  [Name in keyof Shape]: z.ZodOptional<Shape[Name] extends z.ZodDefault<infer Inner> ? Inner : Shape[Name]>;
};

/** The fields of a PUT, all optional and without defaults. */
export const patchOf = <Shape extends z.ZodRawShape>(put: z.ZodObject<Shape>): z.ZodObject<Patched<Shape>> =>
  z.object(
    Object.fromEntries(
      (Object.entries(put.shape) as unknown as [string, z.ZodType][]).map(([name, field]) => {
        const inner = field instanceof z.ZodDefault ? (field.unwrap() as z.ZodType) : field;
        return [name, inner.optional().meta({ ...field.meta() })];
      }),
    ) as unknown as Patched<Shape>,
  );

export const optionalBody = <Body extends z.ZodType>(body: Body) => z.preprocess((sent) => sent ?? {}, body);

export const ArchivedRecord = z
  .object({
    id: field(id(), 'Opaque, immutable identifier.'),
    archivedAt: field(dateTime(), 'When the record was archived.'),
  })
  .meta({ id: 'ArchivedRecord' });
