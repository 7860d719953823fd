import type { Socket } from 'node:net';
import type { FastifyBaseLogger, FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { largestPath } from '../../rules/record-size.ts';
import {
  ApiError,
  errorBody,
  invalid,
  OutcomeUnknown,
  Rejection,
  serviceUnavailable,
  validationFailed,
} from '../contract/errors.ts';
import { isCertainlyUndone, isDatabaseError, isSafeToRepeat, isTimeout, isTooLarge } from '../db/index.ts';
import { commonHeaders, JSON_TYPE } from './headers.ts';
import { countInLog, logFields } from './logging.ts';
import { fieldErrorsOf, ValidationError } from './validation.ts';

/** Returns nothing, because Fastify would await a returned reply. */
function sendError(reply: FastifyReply, error: ApiError): void {
  reply
    .code(error.status)
    .headers(error.headers)
    .type(JSON_TYPE)
    .send(JSON.stringify(errorBody(error)));
}

const FRAMEWORK_ERRORS: Record<string, (request: FastifyRequest) => ApiError> = {
  FST_ERR_CTP_BODY_TOO_LARGE: ({ routeOptions: { bodyLimit } }) =>
    new ApiError('PAYLOAD_TOO_LARGE', { part: 'body', limit: `${bodyLimit / 1024} KiB` }),
  FST_ERR_CTP_INVALID_MEDIA_TYPE: () =>
    invalid('body', 'must be JSON, and be sent with Content-Type: application/json'),
  FST_ERR_BAD_URL: () => new ApiError('ROUTE_NOT_FOUND', 'undecodable'),
};

function toApiError(error: FastifyError | Error, request: FastifyRequest): ApiError {
  // Whoever steals a website's key must not learn who is a customer.
  if (error instanceof ApiError)
    return error.code === 'CUSTOMER_CONTACT_CONFLICT' && request.apiKey?.access === 'create'
      ? new ApiError('CUSTOMER_CONTACT_CONFLICT', 'unnamed')
      : error;
  if (error instanceof ValidationError)
    return validationFailed([...fieldErrorsOf(error, request), ...request.strictErrors]);
  if (isTooLarge(error)) return invalid(largestPath(Object(request.body)), `is too long: ${error.message}`);
  // Checked first: an aborted body has the error code of a broken connection.
  if (request.raw.errored === error)
    return new ApiError('VALIDATION_FAILED', 'The request ended before its body was complete.', {
      cause: error,
    });
  if (isDatabaseError(error)) {
    if (request.method === 'GET' || request.method === 'HEAD') return serviceUnavailable(error);
    return isCertainlyUndone(error) || isSafeToRepeat(error)
      ? new ApiError('SERVICE_UNAVAILABLE', 'undone', { cause: error })
      : new OutcomeUnknown(error);
  }
  const known = 'code' in error ? FRAMEWORK_ERRORS[error.code] : undefined;
  if (known) return known(request);
  const status = (error as Partial<FastifyError>).statusCode;
  if (status !== undefined && status >= 400 && status < 500)
    return new ApiError('VALIDATION_FAILED', 'The request cannot be read.');
  return new ApiError('INTERNAL_ERROR', undefined, { cause: error });
}

/** The error of a step before any write, such as the lookup of a key: its outcome is known, whatever the method. */
export const beforeWrites = (error: unknown): unknown =>
  isDatabaseError(error) ? serviceUnavailable(error) : error;

/** Hosts of agents look for OAuth where a request without a key is rejected. */
const OAUTH = /^\/(?:register|\.well-known\/(?:oauth|openid)-[\w/-]*)$/;

export const routeNotFound = ({ url }: FastifyRequest): ApiError =>
  new ApiError('ROUTE_NOT_FOUND', OAUTH.test(url) ? 'oauth' : 'unknown');

export function handleErrors(app: FastifyInstance): void {
  app.decorateRequest('rejected', undefined);
  app.decorateRequest('timedOut', false);
  const rejections = countInLog(app.log, 'requests were rejected');
  app.addHook('onClose', async () => rejections.report());
  app.setErrorHandler((error: FastifyError, request, reply) => {
    if (error instanceof Rejection) {
      request.rejected = error.reason;
      rejections.count({ organizationId: logFields(request).organizationId, reason: error.reason });
      return sendError(reply, error);
    }
    const response = toApiError(error, request);
    request.timedOut = isTimeout(response.cause);
    if (response.status >= 500)
      request.log.error(
        {
          ...logFields(request),
          ...(response instanceof OutcomeUnknown && { outcome: 'unknown' }),
          err: response.cause ?? response,
        },
        response.code,
      );
    sendError(reply, response);
  });
  app.setNotFoundHandler((request, reply) => sendError(reply, routeNotFound(request)));
}

/** For `frameworkErrors`: requests that fail before routing, so that no hook has run, and none will. */
export function sendFrameworkError(error: FastifyError, request: FastifyRequest, reply: FastifyReply): void {
  reply.headers(commonHeaders(request.id));
  sendError(reply, toApiError(error, request));
  request.log.info({ method: request.method, status: reply.statusCode }, 'request');
}

const PARSER_MESSAGES: Record<string, string> = {
  HPE_HEADER_OVERFLOW: 'The headers are larger than 8 KiB, or more than 64.',
  HPE_INVALID_URL: 'The URL has characters that must be percent-encoded, such as %C3%B1 for ñ.',
  ERR_HTTP_REQUEST_TIMEOUT: 'The request took too long to arrive.',
};

/** For `clientErrorHandler`: bytes that Node cannot parse as HTTP. There is a socket, but no request. */
export function sendClientError(
  error: Error & { code?: string },
  socket: Socket,
  requestId: string,
  log: FastifyBaseLogger,
): void {
  log.debug({ requestId, code: error.code }, 'rejected bytes that are not an HTTP request');
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const message = PARSER_MESSAGES[error.code ?? ''] ?? 'The request is not valid HTTP.';
  const response = new ApiError('VALIDATION_FAILED', message);
  const body = JSON.stringify(errorBody(response));
  socket.end(
    [
      'HTTP/1.1 400 Bad Request',
      `Content-Type: ${JSON_TYPE}`,
      `Content-Length: ${Buffer.byteLength(body)}`,
      ...Object.entries(commonHeaders(requestId)).map((header) => header.join(': ')),
      'Connection: close',
      '',
      body,
    ].join('\r\n'),
    () => socket.destroy(),
  );
}
