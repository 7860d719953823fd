import { z } from 'zod';
import { EMAIL_RULE, isEmailAddress } from '../../../rules/contact-key.ts';
import { text, texts } from '../../fields.ts';

export const TeamMemberPut = z
  .object({
    userId: text({ min: 1, max: 255 }).describe(
      "Of the person's account, which can be in many organizations.",
    ),
    name: text({ min: 1, max: 255 }),
    email: text({ max: 320 }).refine(isEmailAddress, EMAIL_RULE),
    roles: texts().default([]).describe('One base role and optional add-ons.'),
    isAssignable: z
      .boolean()
      .default(true)
      .describe('Whether the member takes part in automatic assignment of opportunities.'),
  })
  .meta({
    id: 'TeamMemberPut',
    examples: [{ userId: 'user_81', name: 'Lucía Ríos', email: 'lucia@example.com', roles: ['owner'] }],
  });
export type TeamMemberPut = z.infer<typeof TeamMemberPut>;
