import { z } from 'zod';
import { dateTime, field, id, page, pageQuery, pathId, text, textFilter } from '../contract/fields.ts';

export const OrganizationParams = z.object({ organizationId: pathId('Id of the organization.') });

export const Organization = z
  .object({
    id: id(),
    name: z.string().meta({ examples: ['Viajes Andinos'] }),
    createdAt: dateTime(),
    closedAt: field(dateTime().nullable(), 'When it was closed; null while it is open.'),
    purgeAt: field(
      dateTime().nullable(),
      'Until then it can be reopened; then all its data is purged. Null while it is open.',
    ),
  })
  .meta({ id: 'Organization' });
export type Organization = z.infer<typeof Organization>;

export const OrganizationList = page(Organization);

export const OrganizationListQuery = z.object({
  ...pageQuery(),
  query: textFilter('Text in the name, ignoring case and accents.'),
  userId: textFilter('Organizations in which this account is an active team member.', 255),
});

export const OrganizationCreate = z
  .object({ name: text({ min: 1, max: 255 }) })
  .meta({ id: 'OrganizationCreate', examples: [{ name: 'Viajes Andinos' }] });

export const OrganizationUpdate = OrganizationCreate.partial().meta({
  id: 'OrganizationUpdate',
  examples: [{ name: 'Viajes Andinos y Cía' }],
});

export const ClosedOrganization = z
  .object({
    id: id(),
    closedAt: field(dateTime(), 'When it was closed.'),
    purgeAt: field(dateTime(), 'Until then it can be reopened; then all its data is purged.'),
  })
  .meta({ id: 'ClosedOrganization' });
