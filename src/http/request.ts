import type { FastifyRequest } from 'fastify';
import type { ErrorCode, FieldError, RejectionReason } from '../contract/errors.ts';
import type { ResourceName } from '../contract/resources.ts';
import type { Caller, OrganizationScope } from '../db/index.ts';

/** What a route of /v1 needs of a key. */
export type Needs = {
  /** `create` is allowed to keys with this access, and to those that write. */
  access?: 'read' | 'create' | 'write';
  resource?: ResourceName;
};

/** What hooks hand on with a request, and what a route says of itself. Authentication adds the key. */
declare module 'fastify' {
  interface FastifyRequest {
    /** The organization of the key or, on dashboard routes, of the path. */
    scope: OrganizationScope;
    /** Who of the agency acts, as the dashboard names them in `X-Actor`: for the log line of the request. */
    actor?: string;
    /** The JSON body before validation, which drops unknown names. */
    sentBody: unknown;
    /** The errors of unknown names; empty without `Prefer: handling=strict`. */
    strictErrors: FieldError[];
    databaseMilliseconds: number;
    rejected: RejectionReason | undefined;
    timedOut: boolean;
  }
  interface FastifyContextConfig extends Needs {
    /** The codes that only this operation can return. The document adds the codes of its class. */
    errorCodes?: readonly ErrorCode[];
    /** The response has a key or a signed link. */
    credential?: true;
  }
}

/** The request, as the database sees it. */
export const callerOf = (request: FastifyRequest): Caller => ({
  isGone: () => request.raw.socket.destroyed,
  addDatabaseTime: (milliseconds) => {
    request.databaseMilliseconds += milliseconds;
  },
});
