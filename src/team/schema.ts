import { z } from 'zod';
import { dateTime, described, id, page, pageQuery } from '../fields.ts';

const MEANINGS = {
  id: 'Never changes; `sellerMemberId` of an opportunity refers to it.',
  userId: 'The id of the user behind the member, in the system of users.',
  name: 'First and last name, as colleagues see it.',
  email: 'The address that the member works with.',
  createdAt: 'When the member joined; the list is in this order, the oldest first.',
};

export const TeamMember = z
  .object(
    described(
      {
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
      },
      MEANINGS,
    ),
  )
  .meta({ id: 'TeamMember' });
export type TeamMember = z.infer<typeof TeamMember>;

export const TeamMemberList = page(TeamMember).meta({ id: 'TeamMemberList' });

export const TeamMemberListQuery = z.object(pageQuery());
