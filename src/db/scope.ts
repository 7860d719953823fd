import type { Queries } from './client.ts';

declare const proven: unique symbol;

/** The id of an organization that the caller was proven to speak for. Nothing copied from a request has this type. */
export type OrganizationId = string & { readonly [proven]: true };

/** What every repository function takes first: whose data, and where they are. */
export type OrganizationScope = { readonly db: Queries; readonly organizationId: OrganizationId };

/** Opens a scope. Only for code that has proven the organization: authentication, the dashboard's path, the command line. */
export const scopeTo = (db: Queries, organizationId: string): OrganizationScope => ({
  db,
  organizationId: organizationId as OrganizationId,
});
