import type { QueryConfig } from 'pg';
import { bind, type OrganizationScope, type Queries, type Statement, scopeTo } from '../../src/db/index.ts';
import { organizationId } from './dataset.ts';

/** A statement, and the statements that follow it in the same call. */
export type Statements = QueryConfig & { after?: readonly QueryConfig[] };

/** The statements of a repository function. They are not run: each returns the given rows. */
export async function statementOf(
  organization: number,
  call: (scope: OrganizationScope) => Promise<unknown>,
  rows: object[] = [
    { id: '', body: Buffer.from('{}'), attachments: Buffer.from('[]'), text: '{}', total: '0', now: '0' },
  ],
): Promise<Statements> {
  const statements: QueryConfig[] = [];
  const record = async <Row, Values>(statement: Statement<Row, Values>, values: Values): Promise<Row[]> => {
    statements.push(bind(statement, values));
    const hasTotal = statement.composed().text.includes(' as total');
    return rows.map((row) => (hasTotal ? row : { ...row, total: undefined })) as Row[];
  };
  const recorder: Queries = {
    read: record,
    write: record,
    transaction: (work) => work(recorder),
  };
  await call(scopeTo({ for: () => recorder }, organizationId(organization)));
  const [statement, ...after] = statements;
  if (!statement) throw new Error('The call ran no statement.');
  return after.length > 0 ? { ...statement, after } : statement;
}
