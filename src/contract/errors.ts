/** Clients branch on these codes: a code never changes its name or its status. */
const STATUS = {
  VALIDATION_FAILED: 400,
  UNAUTHORIZED: 401,
  KEY_READ_ONLY: 403,
  KEY_CREATE_ONLY: 403,
  KEY_RESOURCE_NOT_ALLOWED: 403,
  FILE_LINK_INVALID: 403,
  ROUTE_NOT_FOUND: 404,
  CATALOG_PRODUCT_NOT_FOUND: 404,
  CUSTOMER_NOT_FOUND: 404,
  OPPORTUNITY_NOT_FOUND: 404,
  CONVERSATION_NOT_FOUND: 404,
  QUOTE_NOT_FOUND: 404,
  ORGANIZATION_NOT_FOUND: 404,
  API_KEY_NOT_FOUND: 404,
  TEAM_MEMBER_NOT_FOUND: 404,
  PIPELINE_STAGE_NOT_FOUND: 404,
  QUOTE_ATTACHMENT_NOT_FOUND: 404,
  CUSTOMER_CONTACT_NOT_FOUND: 404,
  CUSTOMER_CONTACT_CONFLICT: 409,
  CUSTOMER_NOT_ARCHIVED: 409,
  CUSTOMER_ERASED: 409,
  CUSTOMER_MERGED: 409,
  IDEMPOTENCY_KEY_REUSED: 409,
  IDEMPOTENCY_IN_PROGRESS: 409,
  ORGANIZATION_CLOSED: 409,
  API_KEY_INACTIVE: 409,
  CATALOG_PRODUCT_NOT_ARCHIVED: 409,
  PIPELINE_STAGE_KEY_TAKEN: 409,
  QUOTE_NOT_PUBLISHED: 409,
  PRECONDITION_FAILED: 412,
  PAYLOAD_TOO_LARGE: 413,
  RANGE_NOT_SATISFIABLE: 416,
  RATE_LIMIT_EXCEEDED: 429,
  INTERNAL_ERROR: 500,
  SERVICE_UNAVAILABLE: 503,
} as const;

export type ErrorCode = keyof typeof STATUS;

/** One validation error, or one contact that belongs to another customer. */
export type ErrorDetail = { path: string; message: string } | { path: string; customerId: string };

export type ErrorBody = { error: { code: ErrorCode; message: string; details?: readonly ErrorDetail[] } };

export class ApiError extends Error {
  readonly code: ErrorCode;
  readonly details: readonly ErrorDetail[] | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    code: ErrorCode,
    message: string,
    options: { details?: readonly ErrorDetail[]; headers?: Record<string, string>; cause?: unknown } = {},
  ) {
    // Without a stack, which costs more than the rest of the response. The stack of a failure is in `cause`.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(message, { cause: options.cause });
    Error.stackTraceLimit = stackTraceLimit;
    this.code = code;
    this.details = options.details;
    this.headers = options.headers ?? {};
  }

  get status(): number {
    return statusOf(this.code);
  }
}

export const statusOf = (code: ErrorCode): number => STATUS[code];

export const errorCodes = Object.keys(STATUS) as ErrorCode[];

export const errorBody = (error: ApiError): ErrorBody => ({
  error: {
    code: error.code,
    message: error.message,
    ...(error.details && { details: error.details }),
  },
});

const MAX_DETAILS = 20;

/**
 * The message repeats `details`, for people who see only the message.
 * @param hint is appended to the message
 */
export function validationFailed(errors: readonly { path: string; message: string }[], hint = ''): ApiError {
  const details = errors.slice(0, MAX_DETAILS);
  const summary = details.map(({ path, message }) => `${path} ${message}`).join('; ');
  return new ApiError('VALIDATION_FAILED', `The request is not valid: ${summary}.${hint}`, { details });
}

const UNAVAILABLE =
  'The service cannot handle the request right now. Wait the seconds in Retry-After, then retry.';
const RETRY_SOON = { 'retry-after': '1' };

/** 503 for a temporary failure: database unreachable, pool exhausted, disk full. */
export const serviceUnavailable = (cause?: unknown): ApiError =>
  new ApiError('SERVICE_UNAVAILABLE', UNAVAILABLE, { headers: RETRY_SOON, cause });

export type RejectionReason = 'full' | 'waited' | 'gone' | 'process';

/** 503 for a request that was rejected for overload, or whose client disconnected. Counted, not logged one by one. */
export class Rejection extends ApiError {
  readonly reason: RejectionReason;

  constructor(reason: RejectionReason) {
    super('SERVICE_UNAVAILABLE', UNAVAILABLE, { headers: RETRY_SOON });
    this.reason = reason;
  }
}

/** Shared, because under overload there are thousands per second. */
export const REJECTIONS: Readonly<Record<RejectionReason, Rejection>> = {
  full: new Rejection('full'),
  waited: new Rejection('waited'),
  gone: new Rejection('gone'),
  process: new Rejection('process'),
};

/** 503 for a write that may have been committed. */
export class OutcomeUnknown extends ApiError {
  constructor(cause: unknown) {
    super(
      'SERVICE_UNAVAILABLE',
      'The request may have been applied. Retry with the same Idempotency-Key, or read before you retry.',
      { headers: RETRY_SOON, cause },
    );
  }
}

/** 404 for a record that is archived, belongs to another organization, or does not exist. */
export const notFound = (code: ErrorCode, what: string, id: string, hint = ''): ApiError =>
  new ApiError(code, `The ${what} ${JSON.stringify(id.slice(0, 64))} does not exist.${hint}`);
