import { documentedError, type ErrorCode, statusOf } from '../contract/errors.ts';

type Operation = { method: string; url: string };

const isPublic = ({ url }: Operation): boolean => url.startsWith('/v1/');

/** Codes that apply to whole classes of operations. */
const OF_CLASSES: [among: (operation: Operation) => boolean, ...codes: ErrorCode[]][] = [
  [() => true, 'VALIDATION_FAILED', 'UNAUTHORIZED', 'INTERNAL_ERROR', 'SERVICE_UNAVAILABLE'],
  [isPublic, 'RATE_LIMIT_EXCEEDED', 'KEY_RESOURCE_NOT_ALLOWED'],
  [(operation) => isPublic(operation) && operation.method !== 'GET', 'KEY_READ_ONLY'],
  [(operation) => isPublic(operation) && operation.method !== 'POST', 'KEY_CREATE_ONLY'],
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

/** `ApiKeyNotFound` */
const inPascalCase = (code: string): string =>
  code.toLowerCase().replaceAll(/(?:^|_)(\w)/g, (_start, letter: string) => letter.toUpperCase());

export type NamedResponse = { name: string; response: object };

export function errorResponse(status: number, codes: readonly ErrorCode[]): NamedResponse {
  const examples = codes.map((code) => [code, { value: documentedError(code).example }]);
  const json = {
    schema: { $ref: '#/components/schemas/ErrorResponse' },
    ...(codes.length > 0 && { examples: Object.fromEntries(examples) }),
  };
  const meanings = codes.map((code) => `\`${code}\`: ${documentedError(code).meaning}`);
  const none = `This operation never returns ${status}. The status is declared on every operation of /v1.`;
  return {
    name: codes.map(inPascalCase).join('Or') || `NoCodeOf${status}`,
    response: { description: meanings.join('\n\n') || none, content: { 'application/json': json } },
  };
}

const text = (description: string) => ({ type: 'string', description });

function object(description: string, properties: object, ...required: string[]) {
  return { type: 'object', description, properties, required };
}

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
