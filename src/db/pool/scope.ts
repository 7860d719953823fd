import type { Statement } from '../sql/statement.ts';

export type Queries = {
  /** Retries after a transient error until its deadline, unless in a transaction. */
  read: <Row, Values>(statement: Statement<Row, Values>, values: Values) => Promise<Row[]>;
  /** Retries only if the error proves that nothing was written, unless in a transaction. */
  write: <Row, Values>(statement: Statement<Row, Values>, values: Values) => Promise<Row[]>;
  /**
   * Runs `work` again if nothing was committed. Inside a transaction, it joins that one. Statements are sent in the order of the
   * calls, and the commit together with those that `work` does not wait for: if one fails, nothing is committed.
   * @param timeoutMs of the whole transaction and of each statement, in place of `DATABASE_TIMEOUT_MS`. Lock waits keep theirs.
   */
  transaction: <Result>(
    work: (transaction: Queries) => Promise<Result>,
    timeoutMs?: number,
  ) => Promise<Result>;
  isTransaction?: true;
};

/** A concurrent write won, and this one wrote nothing: the next attempt can succeed. */
export class LostRace extends Error {}

export type Caller = {
  /** Whether the client has disconnected: what still waits for a slot is not begun. */
  isGone: () => boolean;
  addDatabaseTime: (milliseconds: number) => void;
};

export type Scopes = { for: (organizationId: string, caller?: Caller) => Queries };

declare const proven: unique symbol;

/** Only `scopeTo` returns this type: an id in a request is a plain string. */
export type OrganizationId = string & { readonly [proven]: true };

/** Sends statements for one organization: its id is among the values of each. */
export type OrganizationScope = {
  readonly organizationId: OrganizationId;
  read: Send;
  write: Send;
  /** As that of `Queries`. */
  transaction: <Result>(
    work: (within: OrganizationScope) => Promise<Result>,
    timeoutMs?: number,
  ) => Promise<Result>;
  readonly isTransaction: boolean;
};

type Send = <Row, Values>(
  statement: Statement<Row, Values>,
  values: Omit<NoInfer<Values>, 'organizationId'>,
) => Promise<Row[]>;

function scopeOn(db: Queries, organizationId: OrganizationId): OrganizationScope {
  const sendBy =
    (send: Queries['read']): Send =>
    (statement, values) =>
      send(statement, { ...values, organizationId } as never);
  return {
    organizationId,
    read: sendBy(db.read),
    write: sendBy(db.write),
    transaction: (work, timeoutMs) =>
      db.transaction((within) => work(scopeOn(within, organizationId)), timeoutMs),
    isTransaction: db.isTransaction === true,
  };
}

/** Only for code that has proven that its caller may act for the organization: a lint rule lists it. */
export const scopeTo = (db: Scopes, organizationId: string, caller?: Caller): OrganizationScope =>
  scopeOn(db.for(organizationId, caller), organizationId as OrganizationId);
