import type { QueryConfig } from 'pg';
import { type OrganizationScope, type Queries, scopeTo } from '../../src/db/run/scope.ts';
import { type Step, step } from '../../src/db/sql/statement.ts';
import { organizationId } from './dataset.ts';

/** One statement, and those that follow it: all or nothing where they are a transaction. */
export type Asked = QueryConfig & { after?: readonly QueryConfig[]; isTransaction?: boolean };

/** What a repository function asks of the database, without asking; every statement gets `answer`. */
export async function statementOf(
  organization: number,
  call: (scope: OrganizationScope) => Promise<unknown>,
  answer: object[] = [{ id: '', body: '{}', total: '0' }],
): Promise<Asked> {
  const asked: QueryConfig[] = [];
  let isTransaction = false;
  const ask = async (steps: readonly Step[]) => {
    asked.push(...steps.map(({ query }) => query));
    return steps.map(() => answer);
  };
  const together = ask as unknown as Queries['readTogether'];
  const alone: Queries['read'] = async (statement, values) => (await together([step(statement, values)]))[0];
  const writeTogether: Queries['writeTogether'] = (steps) => {
    isTransaction ||= steps.length > 1;
    return together(steps);
  };
  const recorder: Queries = {
    read: alone,
    readTogether: together,
    write: alone,
    writeTogether,
    transaction: (work) => {
      isTransaction = true;
      return work(recorder);
    },
  };
  await call(scopeTo({ for: () => recorder }, organizationId(organization)));
  const [statement, ...after] = asked;
  if (!statement) throw new Error('An operation took no statement.');
  return after.length > 0 ? { ...statement, after, isTransaction } : statement;
}
