import { recordRoutes, recordView } from '../http/record-routes.ts';
import { listTeamMembers } from './repository.ts';
import { TeamMember, TeamMemberListQuery } from './schema.ts';

const words = {
  title: 'a team member',
  plural: 'team members',
  notFound: 'TEAM_MEMBER_NOT_FOUND',
  descriptions: {
    list: 'The members of the organization, oldest first. Use it to find sellers, and the member that `sellerMemberId` of an opportunity refers to.',
    get: 'One member of the organization.',
    archive: 'The member is archived; opportunities still show the name.',
  },
} as const;

export const teamRoutes = recordRoutes({ ...words, path: '/team' });

/** The dashboard API also writes members. */
export const teamMemberRoutes = recordRoutes({ ...words, path: '/team-members' });

export const publicTeam = recordView({
  schemas: { record: TeamMember, query: TeamMemberListQuery },
  functions: { list: listTeamMembers },
  listId: 'listTeamMembers',
});
