import { EXAMPLE_ID as ID, limitRule, MAX_LIMIT } from './fields.ts';

/**
 * Every error: its status, and its message. Clients branch on the codes: a code never changes its name or its status. The documents
 * and the guide are generated from this table.
 */

export type FieldError = { path: string; message: string };

type TakenContact = { path: string; customerId: string };

/** One validation error, or one contact that belongs to another customer. */
export type ErrorDetail = FieldError | TakenContact;

type Kind<Values> = {
  status: number;
  /** For the documents, if the message says less. */
  meaning?: string;
  message: string | ((values: Values) => string);
  /** The values of the example in the documents. A list of values is the `details` of the body. */
  example?: Values;
  headers?: (values: Values) => Record<string, string>;
};

const kind = <Values = undefined>(described: Kind<Values>) => described;

const plain = (status: number, message: string) => kind({ status, message });

/** An error with a message for each reason. */
const oneOf = <Reason extends string>(
  status: number,
  example: NoInfer<Reason>,
  messages: Record<Reason, string>,
) => kind<Reason>({ status, message: (reason) => messages[reason], example });

const SEND_KEY = 'Send one key, as `Authorization: Bearer <key>` or as `x-api-key: <key>`.';

const MAX_DETAILS = 20;
const LIMIT_RULE = limitRule(MAX_LIMIT);

const notFound = (noun: string) =>
  kind<{ id: string; hint?: string }>({
    status: 404,
    meaning: `The ${noun} does not exist in this organization.`,
    message: ({ id, hint = '' }) => `The ${noun} ${JSON.stringify(id.slice(0, 64))} does not exist.${hint}`,
    example: { id: ID },
  });

const notArchived = (noun: string) => plain(409, `The ${noun} is not archived.`);

const ERRORS = {
  VALIDATION_FAILED: kind<readonly FieldError[] | string>({
    status: 400,
    meaning: 'The request is not valid, and nothing was changed. `details` names the validation errors.',
    // Repeats `details`, for people who see only the message.
    message: (invalid) => {
      if (typeof invalid === 'string') return invalid;
      const errors = invalid.map(({ path, message }) => `${path} ${message}`);
      return `The request is not valid: ${errors.join('; ')}.`;
    },
    example: [{ path: 'query.limit', message: LIMIT_RULE }],
  }),
  UNAUTHORIZED: {
    ...oneOf(401, 'notActive', {
      noKey: `No API key was found, or two different ones. ${SEND_KEY}`,
      incomplete: `This is not a complete API key: its format or its checksum is wrong. Copy the whole key, from \`tcrm_\` to the last character. ${SEND_KEY}`,
      notActive: `The API key is not valid: it is unknown, expired or revoked. ${SEND_KEY}`,
      noToken: 'No valid token was found. Send `Authorization: Bearer <DASHBOARD_TOKEN>`.',
    }),
    meaning: 'No key or token was found, or it is not valid.',
    headers: () => ({ 'www-authenticate': 'Bearer' }),
  },
  KEY_READ_ONLY: plain(403, 'This key can only read. Use a key with the access "write".'),
  KEY_CREATE_ONLY: plain(403, 'This key can only create. Use a key with the access "write" or "read".'),
  KEY_RESOURCE_NOT_ALLOWED: kind<{ resource: string; resources: readonly string[] }>({
    status: 403,
    meaning: 'The key was issued for other resources.',
    message: ({ resource, resources }) =>
      `This key has no access to ${resource}, only to ${resources.join(', ')}. Use another key.`,
    example: { resource: 'customers', resources: ['catalog'] },
  }),
  FILE_LINK_INVALID: plain(403, 'The link has expired or is not valid. List the attachments again.'),
  ROUTE_NOT_FOUND: oneOf(404, 'unknown', {
    unknown: 'This operation does not exist. See /docs.',
    undecodable: 'This operation does not exist: its path cannot be decoded. Percent-encode it as UTF-8.',
    oauth: 'This service has no OAuth. Set the API key as a header: `Authorization: Bearer <key>`.',
  }),
  CATALOG_PRODUCT_NOT_FOUND: notFound('catalog product'),
  CUSTOMER_NOT_FOUND: notFound('customer'),
  OPPORTUNITY_NOT_FOUND: notFound('opportunity'),
  CONVERSATION_NOT_FOUND: notFound('conversation'),
  QUOTE_NOT_FOUND: notFound('quote'),
  ORGANIZATION_NOT_FOUND: { ...notFound('organization'), meaning: 'The organization does not exist.' },
  API_KEY_NOT_FOUND: notFound('API key'),
  TEAM_MEMBER_NOT_FOUND: notFound('team member'),
  PIPELINE_STAGE_NOT_FOUND: notFound('pipeline stage'),
  QUOTE_ATTACHMENT_NOT_FOUND: notFound('quote attachment'),
  MESSAGE_NOT_FOUND: notFound('message'),
  CUSTOMER_CONTACT_CONFLICT: kind<readonly TakenContact[] | 'unnamed'>({
    status: 409,
    meaning: 'A contact belongs to another customer; `details` names that customer.',
    message: (taken) => {
      if (taken === 'unnamed') return 'A contact can belong to one customer only: another customer has it.';
      const list = taken
        .map(({ path, customerId }) => `${path} belongs to customer ${customerId}`)
        .join('; ');
      return `A contact can belong to one customer only: ${list}.`;
    },
    example: [{ path: 'body.contacts[0]', customerId: ID }],
  }),
  CUSTOMER_NOT_ARCHIVED: notArchived('customer'),
  CUSTOMER_ERASED: plain(409, 'The customer was erased: nothing is left to restore.'),
  CUSTOMER_MERGED: plain(409, 'The customer was merged into another customer, whose id is its `mergedInto`.'),
  IDEMPOTENCY_KEY_REUSED: oneOf(409, 'body', {
    body: 'This Idempotency-Key was already used with a different body. Use a new key for a new request.',
    record:
      'The record that this Idempotency-Key created was archived, merged or deleted since. Use a new key for a new request.',
  }),
  IDEMPOTENCY_IN_PROGRESS: kind({
    status: 409,
    message: 'The first request with this Idempotency-Key is still running. Retry in 1 s.',
    headers: () => ({ 'retry-after': '1' }),
  }),
  ORGANIZATION_CLOSED: plain(409, 'The organization is closed. Reopen it to write.'),
  API_KEY_INACTIVE: plain(409, 'The key is revoked, expired or already rotated.'),
  CATALOG_PRODUCT_NOT_ARCHIVED: notArchived('catalog product'),
  OPPORTUNITY_NOT_ARCHIVED: notArchived('opportunity'),
  QUOTE_NOT_ARCHIVED: notArchived('quote'),
  TEAM_MEMBER_NOT_ARCHIVED: notArchived('team member'),
  PIPELINE_STAGE_NOT_ARCHIVED: notArchived('pipeline stage'),
  TEAM_MEMBER_USER_TAKEN: plain(409, 'Another active team member has the userId.'),
  PIPELINE_STAGE_KEY_TAKEN: plain(409, 'Another stage has the key.'),
  QUOTE_NOT_PUBLISHED: plain(
    409,
    'The quote is not published, or its customer was erased: nobody can open it.',
  ),
  PRECONDITION_FAILED: oneOf(412, 'changed', {
    changed: 'The record has changed since you read it. Read it again and send its new ETag.',
    noTag: 'If-Match has no entity tag. Send the ETag of the response unchanged, with its quotes.',
    absent: 'No record has this id. To create one, omit If-Match.',
    exists: 'The record already exists, or is archived. To replace it, omit If-None-Match.',
  }),
  PAYLOAD_TOO_LARGE: kind<{ part: 'body' | 'file'; limit: string }>({
    status: 413,
    meaning:
      'The body is larger than 256 KiB, an uploaded file than 25 MiB, or an import of messages than 4 MiB.',
    message: ({ part, limit }) => `The ${part} is larger than ${limit}.`,
    example: { part: 'body', limit: '256 KiB' },
  }),
  RATE_LIMIT_EXCEEDED: kind<{ limit: number; reset: number }>({
    status: 429,
    meaning: 'The API key exceeded its limit of requests per minute. Retry after the seconds in Retry-After.',
    message: ({ limit, reset }) =>
      `The API key exceeded its limit of ${limit} requests per minute. Retry in ${reset} s.`,
    example: { limit: 6000, reset: 12 },
    headers: ({ reset }) => ({ 'retry-after': String(reset) }),
  }),
  INTERNAL_ERROR: plain(500, 'Internal error in the service. Report the X-Request-Id.'),
  SERVICE_UNAVAILABLE: {
    ...oneOf(503, 'busy', {
      busy: 'The service cannot handle the request right now. Wait the seconds in Retry-After, then retry.',
      undone:
        'The service cannot handle the request right now. Nothing was written. Wait the seconds in Retry-After, then retry.',
      unknownOutcome:
        'The request may have been applied. Retry with the same Idempotency-Key, or read before you retry.',
      closed: 'The dashboard API is closed: this service has no DASHBOARD_TOKEN.',
    }),
    headers: (reason: string) => ({ 'retry-after': reason === 'closed' ? '60' : '1' }),
  },
};

export type ErrorCode = keyof typeof ERRORS;

/** Codes of a record that is not found by its id. */
export type NotFoundCode = Exclude<Extract<ErrorCode, `${string}_NOT_FOUND`>, 'ROUTE_NOT_FOUND'>;

export const notArchivedCode = (code: NotFoundCode) =>
  code.replace(/_NOT_FOUND$/, '_NOT_ARCHIVED') as Extract<ErrorCode, `${string}_NOT_ARCHIVED`>;

type ErrorValues<Code extends ErrorCode> = (typeof ERRORS)[Code] extends Kind<infer Values> ? Values : never;

export type ErrorBody = { error: { code: ErrorCode; message: string; details?: readonly ErrorDetail[] } };

const kindOf = (code: ErrorCode): Kind<unknown> => ERRORS[code] as Kind<unknown>;

export const errorCodes = Object.keys(ERRORS) as ErrorCode[];

export const statusOf = (code: ErrorCode): number => kindOf(code).status;

export class ApiError<Code extends ErrorCode = ErrorCode> extends Error {
  readonly code: Code;
  readonly details: readonly ErrorDetail[] | undefined;
  readonly headers: Readonly<Record<string, string>>;

  /** @param values what the message of the code needs */
  constructor(
    code: Code,
    ...[values, options]: undefined extends ErrorValues<Code>
      ? [values?: undefined, options?: { cause?: unknown }]
      : [values: ErrorValues<Code>, options?: { cause?: unknown }]
  ) {
    const { message, headers } = kindOf(code);
    // Without a stack, which costs more than the rest of the response. The stack of a failure is in `cause`.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(typeof message === 'string' ? message : message(values), options);
    Error.stackTraceLimit = stackTraceLimit;
    this.code = code;
    this.details = Array.isArray(values) ? values : undefined;
    this.headers = headers?.(values) ?? {};
  }

  get status(): number {
    return statusOf(this.code);
  }
}

export function errorBody({ code, message, details }: ApiError): ErrorBody {
  return { error: { code, message, ...(details && { details }) } };
}

/** For the documents: what the code means, and the body of an example. */
export function documentedError(code: ErrorCode): { meaning: string; example: ErrorBody } {
  const { meaning, example } = kindOf(code);
  const error = new ApiError(code, example as never);
  return { meaning: meaning ?? error.message, example: errorBody(error) };
}

export const validationFailed = (errors: readonly FieldError[]): ApiError =>
  new ApiError('VALIDATION_FAILED', errors.slice(0, MAX_DETAILS));

export const invalid = (path: string, message: string): ApiError => validationFailed([{ path, message }]);

/** 503 for a temporary failure: database unreachable, pool exhausted, disk full. */
export const serviceUnavailable = (cause?: unknown): ApiError =>
  new ApiError('SERVICE_UNAVAILABLE', 'busy', { cause });

export type RejectionReason = 'full' | 'waited' | 'gone';

/** 503 for a request that was rejected for overload, or whose client disconnected. Counted, not logged one by one. */
export class Rejection extends ApiError<'SERVICE_UNAVAILABLE'> {
  readonly reason: RejectionReason;

  constructor(reason: RejectionReason) {
    super('SERVICE_UNAVAILABLE', 'busy');
    this.reason = reason;
  }
}

/** 503 for a write that may have been committed. */
export class OutcomeUnknown extends ApiError<'SERVICE_UNAVAILABLE'> {
  constructor(cause: unknown) {
    super('SERVICE_UNAVAILABLE', 'unknownOutcome', { cause });
  }
}

/** For the operator, who sees only the message: one line that says what to do. */
export class OperatorError extends Error {}
