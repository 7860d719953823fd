import type { ServiceErrorCode } from './types.ts';

/** What went wrong: the service's codes, and three of the client for when no answer of the service arrived. */
export type ErrorCode = ServiceErrorCode | 'CONNECTION_FAILED' | 'TIMED_OUT' | 'UNEXPECTED_ANSWER';

/** One fault of a request: where it is, and the rule. */
export type Fault = { path: string; message: string };

/** One contact of a request that another customer has. */
export type TakenContact = { path: string; customerId: string };

/** What `details` holds, by code; empty for every other code. */
export type DetailsByCode = { VALIDATION_FAILED: Fault[]; CUSTOMER_CONTACT_CONFLICT: TakenContact[] };

export type DetailsOf<Code extends ErrorCode> = Code extends keyof DetailsByCode ? DetailsByCode[Code] : [];

export type CrmErrorOptions = {
  status: number;
  code: ErrorCode;
  details?: readonly (Fault | TakenContact)[];
  requestId?: string | undefined;
  attempts: number;
  cause?: unknown;
};

/** Every failure of a call but its cancellation, which throws the reason of the signal. */
export class CrmError extends Error {
  override readonly name = 'CrmError';
  /** The HTTP status; 0 when no answer arrived. */
  readonly status: number;
  /** Branch on this. A newer service may answer a code that this version does not list. */
  readonly code: ErrorCode;
  /** Every fault, or every contact that is taken. Narrow it with `is`. */
  readonly details: readonly (Fault | TakenContact)[];
  /** Names the request in the log of the service. */
  readonly requestId: string | undefined;
  /** How often the request was sent. More than 1: an earlier try may have done the work before its answer was lost. */
  readonly attempts: number;

  constructor(message: string, { status, code, details = [], requestId, attempts, cause }: CrmErrorOptions) {
    super(message, cause === undefined ? undefined : { cause });
    this.status = status;
    this.code = code;
    this.details = details;
    this.requestId = requestId;
    this.attempts = attempts;
  }

  /** Whether the error has this code; `details` then has its type. */
  is<Code extends ErrorCode>(code: Code): this is { code: Code; details: DetailsOf<Code> } & CrmError {
    return this.code === code;
  }
}
