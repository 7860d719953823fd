/** Every error code that an answer can carry, with its HTTP status. Clients branch on the code; it never changes. */
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

/** One fault of a request, or one contact that another customer has. */
export type ErrorDetail = { path: string; message: string } | { path: string; customerId: string };

export type ErrorBody = { error: { code: ErrorCode; message: string; details?: readonly ErrorDetail[] } };

/** Any answer but success. Code below a route throws it, and the one error handler writes it. */
export class ApiError extends Error {
  readonly code: ErrorCode;
  readonly details: readonly ErrorDetail[] | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    code: ErrorCode,
    message: string,
    options: { details?: readonly ErrorDetail[]; headers?: Record<string, string>; cause?: unknown } = {},
  ) {
    // Most of these are plain answers, and a stack costs more than the rest of such an answer. A fault keeps its own
    // stack in `cause`.
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

/** More faults than this in `details` help nobody. */
const MAX_DETAILS = 20;

/**
 * 400 that names every fault. The message repeats `details`, for a person who sees only the message.
 * @param hint follows the faults there
 */
export function validationFailed(errors: readonly { path: string; message: string }[], hint = ''): ApiError {
  const details = errors.slice(0, MAX_DETAILS);
  const summary = details.map(({ path, message }) => `${path} ${message}`).join('; ');
  return new ApiError('VALIDATION_FAILED', `The request is not valid: ${summary}.${hint}`, { details });
}

const UNAVAILABLE =
  'The service cannot handle the request right now. Wait the seconds in Retry-After, then retry.';
const RETRY_SOON = { 'retry-after': '1' };

/** 503 for a fault that passes by itself: database out of reach, pool exhausted, disk full. */
export const serviceUnavailable = (cause?: unknown): ApiError =>
  new ApiError('SERVICE_UNAVAILABLE', UNAVAILABLE, { headers: RETRY_SOON, cause });

/** Why a request got no answer from the database. */
export type RejectionReason = 'full' | 'waited' | 'gone' | 'process';

/** 503 for a request that was not begun, or whose client has gone: counted, and never logged one by one. */
export class Rejection extends ApiError {
  readonly reason: RejectionReason;

  constructor(reason: RejectionReason) {
    super('SERVICE_UNAVAILABLE', UNAVAILABLE, { headers: RETRY_SOON });
    this.reason = reason;
  }
}

/** One object for each: under overload there are thousands a second. */
export const REJECTIONS: Readonly<Record<RejectionReason, Rejection>> = {
  full: new Rejection('full'),
  waited: new Rejection('waited'),
  gone: new Rejection('gone'),
  process: new Rejection('process'),
};

/** 503 for a write that may have been done. */
export class OutcomeUnknown extends ApiError {
  constructor(cause: unknown) {
    super(
      'SERVICE_UNAVAILABLE',
      'The request may have been applied. Retry with the same Idempotency-Key, or read before you retry.',
      { headers: RETRY_SOON, cause },
    );
  }
}

/** 404 for a record that is archived, belongs to another organization, or never existed. */
export const notFound = (code: ErrorCode, what: string, id: string, hint = ''): ApiError =>
  new ApiError(code, `The ${what} ${JSON.stringify(id.slice(0, 64))} does not exist.${hint}`);
