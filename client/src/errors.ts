import type { ServiceErrorCode } from './types.ts';

/** The service's error codes, and three of the client for requests without a response of the service. */
export type ErrorCode = ServiceErrorCode | 'CONNECTION_FAILED' | 'TIMED_OUT' | 'UNEXPECTED_RESPONSE';

/** One validation error: its place in the request, and the rule. */
export type ValidationError = { path: string; message: string };

/** One contact of a request that another customer has. */
export type TakenContact = { path: string; customerId: string };

/** The type of `details` by code; empty for every other code. */
export type DetailsByCode = {
  VALIDATION_FAILED: ValidationError[];
  CUSTOMER_CONTACT_CONFLICT: TakenContact[];
};

export type DetailsOf<Code extends ErrorCode> = Code extends keyof DetailsByCode ? DetailsByCode[Code] : [];

export type CrmErrorOptions = {
  status: number;
  code: ErrorCode;
  details?: readonly (ValidationError | TakenContact)[];
  requestId?: string | undefined;
  attempts: number;
  cause?: unknown;
};

/** Every failed call throws it, except a cancelled one: that throws the reason of its signal. */
export class CrmError extends Error {
  override readonly name = 'CrmError';
  /** The HTTP status; 0 without a response. */
  readonly status: number;
  /** Branch on this. A newer service can return codes that this version does not list. */
  readonly code: ErrorCode;
  /** All validation errors, or all contacts that are taken. `is` narrows the type. */
  readonly details: readonly (ValidationError | TakenContact)[];
  /** Identifies the request in the log of the service. */
  readonly requestId: string | undefined;
  /** How often the request was sent. If more than once, an earlier attempt may have succeeded and its response was lost. */
  readonly attempts: number;

  constructor(message: string, { status, code, details = [], requestId, attempts, cause }: CrmErrorOptions) {
    super(message, cause === undefined ? undefined : { cause });
    this.status = status;
    this.code = code;
    this.details = details;
    this.requestId = requestId;
    this.attempts = attempts;
  }

  /** Whether the error has this code; narrows the type of `details`. */
  is<Code extends ErrorCode>(code: Code): this is { code: Code; details: DetailsOf<Code> } & CrmError {
    return this.code === code;
  }
}
