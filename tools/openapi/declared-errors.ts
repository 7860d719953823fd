import type { FastifySchema, RouteOptions } from 'fastify';
import { z } from 'zod';
import {
  ApiError,
  type ErrorBody,
  type ErrorCode,
  type ErrorDetail,
  errorBody,
  errorCodes,
  statusOf,
  validationFailed,
} from '../../src/errors.ts';
import type { OwnErrors } from '../../src/http/openapi.ts';

/** The errors in the documents: which codes each operation can answer, what they mean, and how they look. */

type Operation = { method: string; url: string };

const isPublic = ({ url }: Operation): boolean => url.startsWith('/v1/');

/** Codes that no route names, because all operations or a whole class of them can answer them. */
const OF_CLASSES: { codes: readonly ErrorCode[]; among: (operation: Operation) => boolean }[] = [
  {
    codes: ['VALIDATION_FAILED', 'UNAUTHORIZED', 'INTERNAL_ERROR', 'SERVICE_UNAVAILABLE'],
    among: () => true,
  },
  { codes: ['RATE_LIMIT_EXCEEDED'], among: isPublic },
  {
    codes: ['KEY_READ_ONLY'],
    among: (operation) => isPublic(operation) && operation.method !== 'GET',
  },
  { codes: ['IDEMPOTENCY_KEY_REUSED', 'IDEMPOTENCY_IN_PROGRESS'], among: ({ method }) => method === 'POST' },
  {
    codes: ['PRECONDITION_FAILED'],
    among: ({ method }) => method === 'PUT' || method === 'PATCH' || method === 'DELETE',
  },
  // A DELETE may have a body, and that is read too.
  { codes: ['PAYLOAD_TOO_LARGE'], among: ({ method }) => method !== 'GET' },
  { codes: ['ORGANIZATION_NOT_FOUND'], among: ({ url }) => url.includes('/:organizationId') },
];

/** The contract declares these on every operation of /v1. */
const OF_THE_CONTRACT = [400, 401, 404, 409, 429] as const;

const ID = '01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17';

type Documented = { meaning: string; message: string; details?: readonly ErrorDetail[] };

const missing = (what: string, meaning: string): Documented => ({
  meaning,
  message: `The ${what} "${ID}" does not exist.`,
});

const ofRecord = (what: string): Documented =>
  missing(what, `The ${what} does not exist in this organization.`);

const FAULTS = [{ path: 'query.limit', message: 'must be an integer from 1 to 100, in decimal digits' }];

/** Codes of records that an organization does not have: their names say all. */
type OfRecord = Exclude<
  Extract<ErrorCode, `${string}_NOT_FOUND`>,
  'ROUTE_NOT_FOUND' | 'ORGANIZATION_NOT_FOUND'
>;

const CODES: Record<Exclude<ErrorCode, OfRecord>, Documented> = {
  VALIDATION_FAILED: {
    meaning: 'The request is not valid; nothing was changed. `details` names every fault.',
    message: validationFailed(FAULTS).message,
    details: FAULTS,
  },
  UNAUTHORIZED: {
    meaning: 'The key or token is missing or not valid.',
    message: 'The API key does not work: it is unknown, expired or revoked.',
  },
  KEY_READ_ONLY: {
    meaning: 'The key can only read.',
    message: 'This key can only read; ask for one with the access "write".',
  },
  FILE_LINK_INVALID: {
    meaning: 'The signed link has expired or was changed.',
    message: 'The link has expired or is not valid; ask for the attachments again.',
  },
  ROUTE_NOT_FOUND: {
    meaning: 'There is no such operation.',
    message: 'There is no such operation; see /docs.',
  },
  ORGANIZATION_NOT_FOUND: missing('organization', 'The organization does not exist.'),
  CUSTOMER_CONTACT_CONFLICT: {
    meaning: 'A contact belongs to another customer; `details` names that customer.',
    message: `A contact can belong to one customer only: body.contacts[0] belongs to customer ${ID}.`,
    details: [{ path: 'body.contacts[0]', customerId: ID }],
  },
  IDEMPOTENCY_KEY_REUSED: {
    meaning: 'The idempotency key came with another body before.',
    message: 'This idempotency key came with another body before.',
  },
  IDEMPOTENCY_IN_PROGRESS: {
    meaning: 'The first request with this idempotency key is still running.',
    message: 'The first request with this idempotency key is still running; retry in 1 s.',
  },
  API_KEY_INACTIVE: {
    meaning: 'The key is revoked, has expired, or was rotated already.',
    message: 'The key is revoked; issue a new one.',
  },
  CATALOG_PRODUCT_NOT_ARCHIVED: {
    meaning: 'The product is not archived.',
    message: 'The catalog product is not archived.',
  },
  PIPELINE_STAGE_KEY_TAKEN: {
    meaning: 'Another stage of the pipeline has the key.',
    message: 'Another stage has the key "negotiation".',
  },
  QUOTE_NOT_PUBLISHED: {
    meaning: 'The quote is a draft or disabled: its customer cannot open it.',
    message: 'The quote is not published: its customer cannot open it.',
  },
  PRECONDITION_FAILED: {
    meaning: 'The record is no longer the one that If-Match names.',
    message: 'The record is no longer the one that If-Match names.',
  },
  PAYLOAD_TOO_LARGE: {
    meaning: 'The body is too large.',
    message: 'The body is larger than this operation takes.',
  },
  RANGE_NOT_SATISFIABLE: {
    meaning: 'The range begins past the end of the file, whose size is in Content-Range.',
    message: 'The range is not within the file; Content-Range has its size.',
  },
  RATE_LIMIT_EXCEEDED: {
    meaning: 'The API key exceeded its request limit; retry after Retry-After seconds.',
    message: 'This key may make 6000 requests a minute; retry in 12 s.',
  },
  INTERNAL_ERROR: {
    meaning: 'A fault of the service; the request id finds it in the log.',
    message: 'Something went wrong here; the request id finds it in the log.',
  },
  SERVICE_UNAVAILABLE: {
    meaning: 'The service cannot answer right now; retry after Retry-After seconds.',
    message: 'The service cannot answer right now; retry shortly.',
  },
};

const isOfRecord = (code: ErrorCode): code is OfRecord => !(code in CODES);

/** `API_KEY_NOT_FOUND` speaks of an API key. */
function documented(code: ErrorCode): Documented {
  if (!isOfRecord(code)) return CODES[code];
  const noun = code
    .replace(/_NOT_FOUND$/, '')
    .toLowerCase()
    .replaceAll('_', ' ');
  return ofRecord(noun.replace(/^api /, 'API '));
}

/** The answer with this code that the document shows. */
export function exampleOfError(code: ErrorCode): ErrorBody {
  const { message, details } = documented(code);
  return errorBody(new ApiError(code, message, details && { details }));
}

/** Codes of records that only the dashboard API reaches. */
const OF_THE_DASHBOARD: readonly ErrorCode[] = [
  'ORGANIZATION_NOT_FOUND',
  'API_KEY_NOT_FOUND',
  'TEAM_MEMBER_NOT_FOUND',
  'PIPELINE_STAGE_NOT_FOUND',
  'QUOTE_ATTACHMENT_NOT_FOUND',
  'CUSTOMER_CONTACT_NOT_FOUND',
  'API_KEY_INACTIVE',
  'CATALOG_PRODUCT_NOT_ARCHIVED',
  'PIPELINE_STAGE_KEY_TAKEN',
  'QUOTE_NOT_PUBLISHED',
];

const Detail = z
  .object({
    path: z.string().describe('Where it is: `body.contacts[0].identifierValue`, `query.limit`.'),
    message: z.string().optional().describe('What is wrong there (VALIDATION_FAILED).'),
    customerId: z
      .string()
      .optional()
      .describe('The customer that has the contact (CUSTOMER_CONTACT_CONFLICT).'),
  })
  .meta({ id: 'ApiErrorDetail', description: 'One fault of the request, or one contact that is taken.' });

const bodyWith = (codes: readonly ErrorCode[]) =>
  z.object({
    error: z
      .object({
        code: z.enum(codes).describe('Stable: branch on this.'),
        message: z.string().describe('For people; may change.'),
        details: z.array(Detail).optional().describe('Every fault of the request, at most 20.'),
      })
      .describe('What went wrong.'),
  });

/** Of a status that the contract declares, and the operation has no code for. */
const ApiErrorBody = bodyWith(errorCodes.filter((code) => !OF_THE_DASHBOARD.includes(code))).meta({
  id: 'ApiError',
  description: 'The body of every answer other than success.',
  examples: [exampleOfError('VALIDATION_FAILED')],
});

/** `CUSTOMER_NOT_FOUND` becomes `CustomerNotFound`. Every POST can answer both codes of idempotency, which have one name. */
const nameOf = (code: ErrorCode): string =>
  (code.startsWith('IDEMPOTENCY_') ? 'IDEMPOTENCY' : code)
    .toLowerCase()
    .replace(/(?:^|_)(.)/g, (_, letter: string) => letter.toUpperCase());

const kinds = new Map<string, z.ZodType>();

/** The body with these codes. It has a name: generators make a type of each schema without one, again at every place. */
function kindOf(codes: readonly ErrorCode[]): z.ZodType {
  const id = `${[...new Set(codes.map(nameOf))].join('Or')}Error`;
  const kind = kinds.get(id) ?? bodyWith(codes).meta({ id, description: `An error: ${codes.join(', ')}.` });
  kinds.set(id, kind);
  return kind;
}

const byStatus = (codes: readonly ErrorCode[]): Map<number, ErrorCode[]> =>
  Map.groupBy(new Set(codes), statusOf);

const json = (description: string, schema: z.ZodType) => ({
  description,
  content: { 'application/json': { schema } },
});

function response(status: number, codes: ErrorCode[]) {
  if (codes.length === 0) {
    return json(
      `This operation has no code of its own for ${status} and does not answer it; the status is declared on every operation of /v1.`,
      ApiErrorBody,
    );
  }
  const meanings = codes.map((code) => `\`${code}\`: ${documented(code).meaning}`);
  return json(meanings.join('\n\n'), kindOf(codes));
}

/** The schema of a route with every error that its operation declares, for the document. */
export function withDeclaredErrors(schema: FastifySchema, url: string, route: RouteOptions): FastifySchema {
  if (schema.response === undefined) return schema;
  const operation = { method: String(route.method), url };
  const given = Object.entries(schema.response as Record<string, object>);
  const successes = given.filter(([, response]) => !('codes' in response));
  const own = given.flatMap(([, response]) => ('codes' in response ? (response as OwnErrors).codes : []));
  const ofClasses = OF_CLASSES.filter(({ among }) => among(operation)).flatMap(({ codes }) => codes);
  const errors = byStatus([...ofClasses, ...own]);
  if (isPublic(operation)) for (const status of OF_THE_CONTRACT) errors.set(status, errors.get(status) ?? []);
  return {
    ...schema,
    response: Object.fromEntries([
      ...successes,
      ...[...errors].map(([status, codes]) => [status, response(status, codes)]),
    ]),
  };
}
