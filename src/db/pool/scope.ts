import type { Statement } from '../sql/statement.ts';

/** The verbs that repositories speak, on the pool and inside a transaction alike. */
export type Queries = {
  /** Runs a statement that only reads. Outside of a transaction, a fault that passes is retried as long as time is left. */
  read: <Row, Values>(statement: Statement<Row, Values>, values: Values) => Promise<Row[]>;
  /** Runs one statement that writes. Outside of a transaction, retried only when the failure proves that nothing was written. */
  write: <Row, Values>(statement: Statement<Row, Values>, values: Values) => Promise<Row[]>;
  /** Runs `work` in one transaction, and again from its start when the server undid it. Inside of one, it joins that one. */
  transaction: <Result>(work: (transaction: Queries) => Promise<Result>) => Promise<Result>;
};

/** Another write was faster, and this one wrote nothing. The next attempt finds the other's result. */
export class LostRace extends Error {}

/** Who waits for an answer: a request. */
export type Caller = {
  /** Aborted when the caller has gone. Nobody asks for the signal of work that is too short to end. */
  signal: () => AbortSignal;
  /** Called with the milliseconds that PostgreSQL spent on a piece of work. */
  addDatabaseTime: (milliseconds: number) => void;
};

/** Gives the verbs for one organization. Reads that the caller has gone from are ended; writes only before they begin. */
export type Scopes = { for: (organizationId: string, caller?: Caller) => Queries };

declare const proven: unique symbol;

/**
 * The id of an organization. Authentication has proven that the caller may act for it. A value copied from a request
 * does not have this type.
 */
export type OrganizationId = string & { readonly [proven]: true };

/** The first argument of every repository function: the database, and whose data it may see. */
export type OrganizationScope = { readonly db: Queries; readonly organizationId: OrganizationId };

/**
 * Opens a scope. Only code that has proven the organization may do so: api-keys/authentication.ts (the key),
 * organizations/repository.ts (the dashboard's path), files/ (signed links), jobs/, cli/ and the demo agency. A lint rule refuses the import
 * everywhere else.
 * @param caller the request that waits: its reads end when its client has gone
 */
export const scopeTo = (db: Scopes, organizationId: string, caller?: Caller): OrganizationScope => ({
  db: db.for(organizationId, caller),
  organizationId: organizationId as OrganizationId,
});

/** Runs `work` in one transaction of the scope's database. */
export const inTransaction = <Result>(
  scope: OrganizationScope,
  work: (scope: OrganizationScope) => Promise<Result>,
): Promise<Result> => scope.db.transaction((db) => work({ ...scope, db }));
