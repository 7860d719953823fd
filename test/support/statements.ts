import type { QueryConfig } from 'pg';
import { type OrganizationScope, type Queries, scopeTo } from '../../src/db/pool/scope.ts';
import { bind, type Statement } from '../../src/db/sql/statement.ts';
import { organizationId } from './dataset.ts';

/** One statement, and those that follow it. */
export type Asked = QueryConfig & { after?: readonly QueryConfig[] };

/** What a repository function asks of the database, without asking; every statement gets `answer`. */
export async function statementOf(
  organization: number,
  call: (scope: OrganizationScope) => Promise<unknown>,
  answer: object[] = [{ id: '', body: '{}', attachments: Buffer.from('[]'), text: '{}', total: '0' }],
): Promise<Asked> {
  const asked: QueryConfig[] = [];
  const ask = async <Row, Values>(statement: Statement<Row, Values>, values: Values): Promise<Row[]> => {
    asked.push(bind(statement, values));
    // Only who asks for a total gets one.
    const hasTotal = statement.text.includes(' as total');
    return answer.map((row) => (hasTotal ? row : { ...row, total: undefined })) as Row[];
  };
  const recorder: Queries = {
    read: ask,
    write: ask,
    transaction: (work) => work(recorder),
  };
  await call(scopeTo({ for: () => recorder }, organizationId(organization)));
  const [statement, ...after] = asked;
  if (!statement) throw new Error('An operation took no statement.');
  return after.length > 0 ? { ...statement, after } : statement;
}
