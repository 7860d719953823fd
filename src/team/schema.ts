import { z } from 'zod';
import { dateTime, id, page, pageQuery } from '../http/fields.ts';

export const TeamMember = z
  .object({
    id: id(),
    userId: z.string().meta({ examples: ['usr_1042'] }),
    name: z.string().meta({ examples: ['Lucía Romero'] }),
    email: z.string().meta({ examples: ['lucia@example.com'] }),
    roles: z
      .array(z.string())
      .describe('One base role and optional add-ons.')
      .meta({ examples: [['owner']] }),
    isAssignable: z
      .boolean()
      .describe('Whether the member takes part in automatic assignment of opportunities.'),
    createdAt: dateTime(),
  })
  .meta({ id: 'TeamMember' });
export type TeamMember = z.infer<typeof TeamMember>;

export const TeamMemberList = page(TeamMember).meta({ id: 'TeamMemberList' });

export const TeamMemberListQuery = z.object(pageQuery());
