import type { Caller, Queries, Scopes } from './queries.ts';

declare const proven: unique symbol;

/**
 * The id of an organization. Authentication has proven that the caller may act for it. A value copied from a request
 * does not have this type.
 */
export type OrganizationId = string & { readonly [proven]: true };

/** The first argument of every repository function: the database, and whose data it may see. */
export type OrganizationScope = { readonly db: Queries; readonly organizationId: OrganizationId };

/**
 * Opens a scope. Only code that has proven the organization may do so: http/authentication.ts (the key),
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
