import type { PipelineStagePut } from '../src/pipeline-stages/schema.ts';
import type { TeamMemberPut } from '../src/team/schema.ts';
import { daysAgo, idOf, listOf, rowsOf } from './random.ts';
import type { Language } from './themes.ts';

/** The team of the agency, and the columns of its pipeline. */

export type DemoMember = { id: string; since: Date; languages: string[]; input: TeamMemberPut };

/** Name | languages | roles | is assigned automatically | days since the person joined. */
const team = rowsOf(`
Mariana Castañeda Ruiz | es, en | owner                    | no  | 1460
Diego Altamirano       | es     | admin, billing           | no  | 1390
Luciana Ferreyra       | es, pt | manager, catalog_editor  | yes | 1180
Rafael Nogueira        | pt     | agent                    | yes | 870
Sofía Ibarra Luna      | es     | agent                    | yes | 640
Tomás Echegaray        | es, en | agent, catalog_editor    | yes | 520
Bianca Moura           | pt, en | agent, quality_reviewer  | yes | 300
Emily Rowe             | en, es | agent                    | no  | 75
`);

export const demoTeam = (): DemoMember[] =>
  team.map(([name = '', languages = '', roles = '', assignable, joined], index) => {
    const mailbox = name
      .normalize('NFD')
      .replace(/\p{M}/gu, '')
      .toLowerCase()
      .split(' ')
      .slice(0, 2)
      .join('.');
    const since = daysAgo(Number(joined));
    return {
      id: idOf(`member ${name}`, since),
      since,
      languages: listOf(languages),
      input: {
        userId: `user_${4_101 + index * 17}`,
        name,
        email: `${mailbox}@rutasdelsur.example`,
        roles: listOf(roles),
        isAssignable: assignable === 'yes',
      },
    };
  });

/** The members who sell in the language, including new ones without automatic assignment. */
export const sellersOf = (team: readonly DemoMember[], language: Language): DemoMember[] =>
  team.filter(
    ({ languages, input }) =>
      languages.includes(language) && !input.roles.includes('owner') && !input.roles.includes('admin'),
  );

export type DemoStage = { id: string; input: PipelineStagePut; salesStage: string };

/** Key | the agency's name of the column | sales stage of its opportunities. */
export const demoStages = (): DemoStage[] =>
  rowsOf(`
new         | Nuevos             | qualified
contacted   | En conversación    | qualified
quoted      | Cotización enviada | proposal
negotiation | Negociación        | negotiation
won         | Ganados            | won
lost        | Perdidos           | lost
`).map(([key = '', name = '', salesStage = ''], position) => ({
    id: idOf(`stage ${key}`, daysAgo(1450)),
    input: { key, name, position },
    salesStage,
  }));
