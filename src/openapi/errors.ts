import { ApiError, type ErrorCode, type ErrorDetail, errorBody, statusOf } from '../contract/errors.ts';
import { EXAMPLE_ID as ID, limitRule, MAX_LIMIT } from '../contract/fields.ts';

type Operation = { method: string; url: string };

const isPublic = ({ url }: Operation): boolean => url.startsWith('/v1/');

/** Codes that apply to whole classes of operations. */
const OF_CLASSES: [among: (operation: Operation) => boolean, ...codes: ErrorCode[]][] = [
  [() => true, 'VALIDATION_FAILED', 'UNAUTHORIZED', 'INTERNAL_ERROR', 'SERVICE_UNAVAILABLE'],
  [isPublic, 'RATE_LIMIT_EXCEEDED', 'KEY_RESOURCE_NOT_ALLOWED'],
  [(operation) => isPublic(operation) && operation.method !== 'GET', 'KEY_READ_ONLY'],
  [(operation) => isPublic(operation) && operation.method !== 'POST', 'KEY_CREATE_ONLY'],
  [({ method }) => method === 'POST', 'IDEMPOTENCY_KEY_REUSED', 'IDEMPOTENCY_IN_PROGRESS'],
  [({ method }) => ['PUT', 'PATCH', 'DELETE'].includes(method), 'PRECONDITION_FAILED'],
  // Even a DELETE can have a body.
  [({ method }) => method !== 'GET', 'PAYLOAD_TOO_LARGE'],
  [({ url }) => url.includes('/:organizationId'), 'ORGANIZATION_NOT_FOUND'],
  [({ method, url }) => method !== 'GET' && /:organizationId\/(?!reopen)/.test(url), 'ORGANIZATION_CLOSED'],
];

const OF_THE_CONTRACT = [400, 401, 404, 409, 429] as const;

/**
 * The codes of an operation by status, without codes for a status that only the contract requires.
 * @param own the codes that its route declares
 */
export function codesByStatus(operation: Operation, own: readonly ErrorCode[]): Map<number, ErrorCode[]> {
  const ofClasses = OF_CLASSES.flatMap(([among, ...codes]) => (among(operation) ? codes : []));
  const found = Map.groupBy(new Set([...ofClasses, ...own]), statusOf);
  if (isPublic(operation)) for (const status of OF_THE_CONTRACT) found.set(status, found.get(status) ?? []);
  return found;
}

const LIMIT_RULE = limitRule(MAX_LIMIT);

type Documented = [meaning: string, message?: string, details?: ErrorDetail[]];

/** All codes but `…_NOT_FOUND`. */
const CODES: Partial<Record<ErrorCode, Documented>> = {
  VALIDATION_FAILED: [
    'The request is not valid, and nothing was changed. `details` names every validation error.',
    `The request is not valid: query.limit ${LIMIT_RULE}.`,
    [{ path: 'query.limit', message: LIMIT_RULE }],
  ],
  UNAUTHORIZED: [
    'No key or token was found, or it is not valid.',
    'The API key is not valid: it is unknown, expired or revoked.',
  ],
  KEY_READ_ONLY: ['This key can only read. Use a key with the access "write".'],
  KEY_CREATE_ONLY: ['This key can only create. Use a key with the access "write" or "read".'],
  KEY_RESOURCE_NOT_ALLOWED: [
    'The key was issued for other parts of the API.',
    'This key has no access to customers, only to catalog. Use another key.',
  ],
  ORGANIZATION_NOT_FOUND: ['The organization does not exist.', `The organization "${ID}" does not exist.`],
  ORGANIZATION_CLOSED: ['The organization is closed. Reopen it to write.'],
  CUSTOMER_CONTACT_CONFLICT: [
    'A contact belongs to another customer; `details` names that customer.',
    `A contact can belong to one customer only: body.contacts[0] belongs to customer ${ID}.`,
    [{ path: 'body.contacts[0]', customerId: ID }],
  ],
  CUSTOMER_NOT_ARCHIVED: ['The customer is not archived.'],
  CUSTOMER_ERASED: ['The customer was erased: nothing is left to restore.'],
  CUSTOMER_MERGED: [
    'The customer was merged into another customer.',
    `The customer was merged into customer ${ID}.`,
  ],
  IDEMPOTENCY_KEY_REUSED: [
    'This Idempotency-Key was already used with a different body. Use a new key for a new request.',
  ],
  IDEMPOTENCY_IN_PROGRESS: ['The first request with this Idempotency-Key is still running. Retry in 1 s.'],
  API_KEY_INACTIVE: [
    'The key is revoked, expired or already rotated.',
    `The key was already rotated. Key ${ID} replaces it.`,
  ],
  CATALOG_PRODUCT_NOT_ARCHIVED: ['The catalog product is not archived.'],
  PIPELINE_STAGE_KEY_TAKEN: ['Another stage has the key.', 'Another stage has the key "negotiation".'],
  QUOTE_NOT_PUBLISHED: ['The quote is not published: its customer cannot open it.'],
  PRECONDITION_FAILED: ['The record has changed since you read it. Read it again and send its new ETag.'],
  PAYLOAD_TOO_LARGE: [
    'The body is larger than 1 MiB, or an uploaded file than 25 MiB.',
    'The body is larger than 1 MiB.',
  ],
  RATE_LIMIT_EXCEEDED: [
    'The API key exceeded its limit of requests per minute. Retry after the seconds in Retry-After.',
    'The API key exceeded its limit of 6000 requests per minute. Retry in 12 s.',
  ],
  INTERNAL_ERROR: ['Internal error in the service. Report the X-Request-Id.'],
  SERVICE_UNAVAILABLE: [
    'The service cannot handle the request right now. Wait the seconds in Retry-After, then retry.',
  ],
};

function recordNotFound(code: ErrorCode): Documented {
  const words = code.replace(/_NOT_FOUND$/, '').toLowerCase();
  const noun = words.replaceAll('_', ' ').replace(/^api /, 'API ');
  return [`The ${noun} does not exist in this organization.`, `The ${noun} "${ID}" does not exist.`];
}

const documented = (code: ErrorCode): Documented => CODES[code] ?? recordNotFound(code);

const inPascalCase = (code: ErrorCode): string =>
  code.toLowerCase().replace(/(?:^|_)(.)/g, (_, letter: string) => letter.toUpperCase());

export type NamedResponse = { name: string; response: object };

export function errorResponse(status: number, codes: readonly ErrorCode[]): NamedResponse {
  const examples = codes.map((code) => {
    const [meaning, message = meaning, details] = documented(code);
    return [code, { value: errorBody(new ApiError(code, message, details && { details })) }];
  });
  const json = {
    schema: { $ref: '#/components/schemas/ErrorResponse' },
    ...(codes.length > 0 && { examples: Object.fromEntries(examples) }),
  };
  const meanings = codes.map((code) => `\`${code}\`: ${documented(code)[0]}`);
  const none = `This operation never returns ${status}. The status is declared on every operation of /v1.`;
  return {
    name: codes.map(inPascalCase).join('Or') || `NoCodeOf${status}`,
    response: { description: meanings.join('\n\n') || none, content: { 'application/json': json } },
  };
}

const text = (description: string) => ({ type: 'string', description });

const object = (description: string, properties: object, ...required: string[]) => {
  return { type: 'object', description, properties, required };
};

/** `code` is not an enum, because a new code would break generated clients. */
export function errorSchemas(codes: readonly ErrorCode[]) {
  const code = text(`Stable: branch on it. One of these, or a later addition: ${codes.join(', ')}.`);
  const items = { $ref: '#/components/schemas/ErrorResponseDetail' };
  const details = { type: 'array', description: 'Every validation error of the request, at most 20.', items };
  const error = {
    code: { ...code, examples: codes },
    message: text('For people. The wording may change.'),
    details,
  };
  const detail = {
    path: text('The place in the request: `body.contacts[0].identifierValue`, `query.limit`.'),
    message: text('What is wrong there (VALIDATION_FAILED).'),
    customerId: text('The customer that has the contact (CUSTOMER_CONTACT_CONFLICT).'),
  };
  const whole = { error: object('What went wrong.', error, 'code', 'message') };
  return {
    ErrorResponse: object('The body of every error response.', whole, 'error'),
    ErrorResponseDetail: object('One validation error, or one contact that is taken.', detail, 'path'),
  };
}
