import {
  ApiError,
  type ErrorBody,
  type ErrorCode,
  errorBody,
  errorCodes,
  validationFailed,
} from '../errors.ts';

/** What the document shows of each error status: an answer that the operation can really give. */

const ID = '01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17';

const contactConflict = new ApiError(
  'CUSTOMER_CONTACT_CONFLICT',
  `A contact can belong to one customer only: body.contacts[0] belongs to customer ${ID}.`,
  { details: [{ path: 'body.contacts[0]', customerId: ID }] },
);

/** The conflicts of an operation's own; every other POST can only meet those of an idempotency key. */
const CONFLICTS: Record<string, ApiError> = {
  createCustomer: contactConflict,
  updateCustomer: contactConflict,
  rotateApiKey: new ApiError(
    'API_KEY_INACTIVE',
    'A revoked or expired key cannot be rotated; issue a new one.',
  ),
  restoreCatalogProduct: new ApiError('CATALOG_PRODUCT_NOT_ARCHIVED', 'The catalog product is not archived.'),
};

const EXAMPLES: Record<string, ApiError> = {
  400: validationFailed([
    { path: 'query.limit', message: 'must be an integer from 1 to 100, in decimal digits' },
  ]),
  401: new ApiError('UNAUTHORIZED', 'The API key is missing or not valid.'),
  409: new ApiError('IDEMPOTENCY_KEY_REUSED', 'This idempotency key came with another body before.'),
  412: new ApiError('PRECONDITION_FAILED', 'The record is no longer the one that If-Match names.'),
  413: new ApiError('PAYLOAD_TOO_LARGE', 'The body is larger than this operation takes.'),
  429: new ApiError('RATE_LIMIT_EXCEEDED', 'This key may make 6000 requests a minute; retry in 12 s.'),
  500: new ApiError('INTERNAL_ERROR', 'Something went wrong here; the request id finds it in the log.'),
  503: new ApiError('SERVICE_UNAVAILABLE', 'The service cannot answer right now; retry shortly.'),
};

/** `productId` is what CATALOG_PRODUCT_NOT_FOUND is about. */
function notFoundCode(parameter: string | undefined): ErrorCode {
  const noun = parameter?.replace(/Id$/, '').replace(/[A-Z]/g, '_$&').toUpperCase();
  return (
    errorCodes.find((code) => noun !== undefined && code.endsWith(`${noun}_NOT_FOUND`)) ?? 'ROUTE_NOT_FOUND'
  );
}

/** @param pathParameters names, the record's own last */
export function errorExample(
  status: string,
  operationId: string,
  pathParameters: string[],
): ErrorBody | undefined {
  if (status === '404') {
    const code = notFoundCode(pathParameters.at(-1));
    const message =
      code === 'ROUTE_NOT_FOUND'
        ? 'There is no such operation; see /docs.'
        : `The ${code.replace('_NOT_FOUND', '').toLowerCase().replaceAll('_', ' ')} "${ID}" does not exist.`;
    return errorBody(new ApiError(code, message));
  }
  const error = (status === '409' ? CONFLICTS[operationId] : undefined) ?? EXAMPLES[status];
  return error && errorBody(error);
}
