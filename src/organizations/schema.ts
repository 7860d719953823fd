import { z } from 'zod';
import { dateTime, id, page, pageQuery, text } from '../fields.ts';

export const Organization = z
  .object({ id: id(), name: z.string().meta({ examples: ['Viajes Andinos'] }), createdAt: dateTime() })
  .meta({ id: 'Organization' });
export type Organization = z.infer<typeof Organization>;

export const OrganizationList = page(Organization).meta({ id: 'OrganizationList' });

export const OrganizationListQuery = z.object(pageQuery());

export const OrganizationCreate = z
  .object({ name: text({ min: 1, max: 255 }) })
  .meta({ id: 'OrganizationCreate', examples: [{ name: 'Viajes Andinos' }] });
