import type { Statement } from '../sql/statement.ts';

export type Queries = {
  /** Retries after a transient error, unless in a transaction. */
  read: <Row, Values>(statement: Statement<Row, Values>, values: Values) => Promise<Row[]>;
  /** Retries only if the error proves that nothing was written, and not in a transaction. */
  write: <Row, Values>(statement: Statement<Row, Values>, values: Values) => Promise<Row[]>;
  /** Runs `work` again from its start if nothing was committed. Inside a transaction, it joins that transaction. */
  transaction: <Result>(work: (transaction: Queries) => Promise<Result>) => Promise<Result>;
};

/** A concurrent write won, and this one wrote nothing. The next attempt finds the other's result. */
export class LostRace extends Error {}

/** A request that waits for the result. */
export type Caller = {
  /** Aborted when the client disconnects. A function, because short reads need no signal. */
  signal: () => AbortSignal;
  /** The milliseconds that PostgreSQL spent on a task. */
  addDatabaseTime: (milliseconds: number) => void;
};

/** When the caller disconnects, its reads are cancelled, and its writes only before they begin. */
export type Scopes = { for: (organizationId: string, caller?: Caller) => Queries };

declare const proven: unique symbol;

/** An organization's id. Only `scopeTo` returns this type: a value of a request is a plain string. */
export type OrganizationId = string & { readonly [proven]: true };

/** The first argument of every repository function. */
export type OrganizationScope = { readonly db: Queries; readonly organizationId: OrganizationId };

/** Only for code that has proven that its caller may act for the organization: a lint rule lists it. */
export const scopeTo = (db: Scopes, organizationId: string, caller?: Caller): OrganizationScope => ({
  db: db.for(organizationId, caller),
  organizationId: organizationId as OrganizationId,
});

export const inTransaction = <Result>(
  scope: OrganizationScope,
  work: (scope: OrganizationScope) => Promise<Result>,
): Promise<Result> => scope.db.transaction((db) => work({ ...scope, db }));
