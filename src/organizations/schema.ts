import { z } from 'zod';
import * as f from '../contract/fields.ts';

export const OrganizationParams = z.object({ organizationId: f.pathId('Id of the organization.') });

export const Organization = f.object('Organization', {
  id: f.recordId(),
  name: z.string().meta({ examples: ['Viajes Andinos'] }),
  createdAt: f.createdAt(),
  closedAt: f.nullableDateTime('When it was closed; null while it is open.'),
  purgeAt: f.nullableDateTime(
    'Until then it can be reopened; then all its data is purged. Null while it is open.',
  ),
});
export type Organization = z.infer<typeof Organization>;

export const OrganizationList = f.page(Organization);

export const OrganizationListQuery = z.object({
  ...f.recordQuery(),
  query: f.textFilter('Text in the name, ignoring case and accents.'),
  userId: f.textFilter('Organizations in which this account is an active team member.', 255),
});

export const OrganizationCreate = z
  .object({ name: f.text({ min: 1, max: 255 }) })
  .meta({ id: 'OrganizationCreate', examples: [{ name: 'Viajes Andinos' }] });

export const OrganizationUpdate = OrganizationCreate.partial().meta({
  id: 'OrganizationUpdate',
  examples: [{ name: 'Viajes Andinos y Cía' }],
});

export const ClosedOrganization = f.object('ClosedOrganization', {
  id: f.recordId(),
  closedAt: f.dateTime().describe('When it was closed.'),
  purgeAt: f.dateTime().describe('Until then it can be reopened; then all its data is purged.'),
});
