import { readFileSync } from 'node:fs';
import type { Tool as SdkTool } from '@modelcontextprotocol/server';
import type { FastifyInstance, FastifyReply, FastifyRequest, onSendHookHandler } from 'fastify';
import type { FastifyPluginCallbackZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { hasNoCountryCode, type IdentifierType, possibleKeys } from '../../rules/contact-key.ts';
import { accessError, hasAccess } from '../api-keys/authentication.ts';
import { ApiError, type ErrorBody, errorBody } from '../contract/errors.ts';
import { addIssue, areIds } from '../contract/fields.ts';
import { callerOf } from '../http/caller.ts';
import { presentedKey } from '../http/credentials.ts';
import { unknownName } from '../http/ignored-parameters.ts';
import { COUNTED_ALREADY } from '../http/rate-limit.ts';
import { validate } from '../http/validation.ts';
import { once } from '../once.ts';
import { resultHeader } from './results.ts';
import { type ApiDocument, isObject, type OperationTool, parsed, toolsOf } from './tools.ts';

/**
 * The Model Context Protocol at /mcp: streamable HTTP without sessions. Each tool call is a request to /v1
 * with the caller's key, so errors, tenancy and the log are those of /v1.
 */

export type McpOptions = {
  /** The application with the routes of /v1. */
  app: FastifyInstance;
  /** Their OpenAPI document, as JSON. */
  document: () => string;
  canWrite: boolean;
  /** The service's public URL, if known. */
  publicUrl?: string | undefined;
};

const { name, version } = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
) as { name: string; version: string };

const DATES = ['createdSince', 'createdBefore', 'updatedSince', 'updatedBefore'];

function instructions({ paths, components }: ApiDocument): string {
  const known = JSON.stringify([paths, components.parameters]);
  const operations = Object.values(paths).flatMap((path) => Object.values(path));
  const kinds = [...new Set(operations.flatMap(({ tags }) => tags))].join(', ').toLowerCase();
  return `The records of one travel agency: ${kinds}.
Lists are paginated: there is another page while offset plus limit is below total. To count records, use limit 1. Search with query before you read a whole list. To find a customer by telephone number, email address or handle, use listCustomers with contact.
${DATES.filter((one) => known.includes(`"${one}"`)).join(', ')} take date-times such as 2026-11-01T00:00:00Z; Since includes that time, Before excludes it.
Use fields to keep responses short: each record then has only the fields that you name. Name id if you need it later.
An error has a code, and a message that says what to change.`;
}

const anything = () => z.record(z.string(), z.unknown());

/** The parameters that the SDK would reject with a dump of its schema. */
const PARAMS: ReadonlyMap<string | undefined, z.ZodType> = new Map<string, z.ZodType>([
  ['tools/list', z.object({ cursor: z.string().optional() })],
  ['tools/call', z.object({ name: z.string(), arguments: anything().optional() })],
  [
    'initialize',
    z.object({
      protocolVersion: z.string(),
      capabilities: anything(),
      clientInfo: z.object({ name: z.string(), version: z.string() }),
    }),
  ],
]);

/** Hosts send null for what is absent, and some send the arguments as JSON text. */
function withoutNulls(message: unknown): unknown {
  if (!isObject(message)) return message;
  const { params, ...rest } = message;
  if (params === null) return rest;
  if (!isObject(params)) return message;
  const present = Object.entries(params).filter(([, value]) => value !== null);
  return {
    ...rest,
    params: Object.fromEntries(
      present.map(([name, value]) => [name, name === 'arguments' ? parsed(value) : value]),
    ),
  };
}

const Message = z.preprocess(
  withoutNulls,
  z
    .object({
      jsonrpc: z.literal('2.0'),
      id: z.union([z.string(), z.number()], 'must be a string or a number').optional(),
      method: z.string().optional(),
      params: anything().optional(),
      result: z.unknown().optional(),
      error: z.unknown().optional(),
    })
    .check((payload) => {
      const { method, params = {}, ...response } = payload.value;
      if (method === undefined && !('result' in response || 'error' in response))
        addIssue(payload, 'is required', ['method']);
      const { error } = validate(PARAMS.get(method) ?? anything(), params);
      for (const { path, message } of error?.issues ?? [])
        addIssue(payload, message, ['params', ...(path as string[])]);
    }),
);

const rejectedRequest = (message: string) => ({
  jsonrpc: '2.0',
  error: { code: -32_000, message },
  id: null,
});

const METHOD_NOT_ALLOWED = rejectedRequest('This server has no sessions and no streams. Send POST.');

const FOREIGN_ORIGIN = rejectedRequest(
  'The Origin header names another site. Send the request from a program, not from a web page.',
);

/** Headers that a tool call takes over. */
const carriedOn = ({ raw, id }: FastifyRequest): Record<string, string> => ({
  ...COUNTED_ALREADY,
  authorization: `Bearer ${presentedKey(raw.rawHeaders)}`,
  'x-request-id': id,
  prefer: 'handling=strict',
});

/** What is wrong with a contact that nobody has. */
function contactHints(contact: string, type: unknown): string[] {
  if (hasNoCountryCode((type ?? 'whatsapp') as IdentifierType, contact))
    return [
      'the number in contact has no country code. Start it with + and the country code, or use query for a part of it.',
    ];
  const { whatsapp, telefono, email } = possibleKeys(contact);
  return !(whatsapp ?? telefono ?? email) && /[\s:<>,;]/.test(contact.trim())
    ? ['contact takes one telephone number, email address or handle, without other text.']
    : [];
}

/** Why a list may have found nothing: arguments that cannot be what they are for. */
function hintsOf({ contact, contactType, query, ...others }: Record<string, unknown>): string[] {
  const hints = Object.entries(others).flatMap(([name, value]) =>
    name.endsWith('Id') && typeof value === 'string' && !['', 'null'].includes(value) && !areIds(value)
      ? `${name} takes ids, and "${value.slice(0, 100)}" is not an id.`
      : [],
  );
  if (typeof query === 'string' && /[\s*%"]/.test(query.trim()))
    hints.push('query must be in one field as it is. Use fewer words, and no quotes or wildcards.');
  if (typeof contact === 'string') hints.push(...contactHints(contact, contactType));
  return hints.map((hint) => `Nothing was found: ${hint}`);
}

const errorResult = (error: ErrorBody) => ({
  content: [{ type: 'text' as const, text: JSON.stringify(error) }],
  isError: true,
});

/** An error of the protocol in place of one of /v1: parse error, invalid request or invalid parameters. */
const inProtocol: onSendHookHandler = (request, reply, payload, done) => {
  const { error }: Partial<ErrorBody> = reply.statusCode === 400 ? JSON.parse(String(payload)) : {};
  if (error?.code !== 'VALIDATION_FAILED') return done(null, payload);
  const { id = null } = isObject(request.body) ? request.body : {};
  const areParameters = error.details?.every(({ path }) => /^body\.params\b/.test(path));
  const code = request.body === undefined ? -32_700 : areParameters ? -32_602 : -32_600;
  if (areParameters) reply.code(200);
  const known = typeof id === 'string' || typeof id === 'number' ? id : null;
  done(null, JSON.stringify({ jsonrpc: '2.0', id: known, error: { code, message: error.message } }));
};

type Exchange = { request: FastifyRequest; reply: FastifyReply; tools: SdkTool[] };

/** A server for each message, as the SDK requires. */
async function startProtocol({ app, document, canWrite, publicUrl }: McpOptions) {
  // Loaded at the first message, because the SDK takes memory.
  const sdk = await import('@modelcontextprotocol/server');
  const api = JSON.parse(document()) as ApiDocument;
  const all = toolsOf(api);
  const byName = new Map(all.map((one) => [one.tool.name, one]));
  const names = [...byName.keys()];
  const options = { capabilities: { tools: {} }, instructions: instructions(api) };

  /** Why the key may not use the tool; undefined if it may. */
  function rejection(
    { apiKey }: FastifyRequest,
    { tool, method, resource }: OperationTool,
  ): string | undefined {
    if (!tool.annotations.readOnlyHint && !canWrite) return 'agents can only read on this service';
    if (accessError(apiKey, method)) return `this key can only ${apiKey?.access}`;
    return hasAccess(apiKey, resource) ? undefined : `this key has no access to ${resource}`;
  }

  /** The tools that the key may use. */
  function toolsFor(request: FastifyRequest): SdkTool[] {
    const allowed = all.filter((one) => rejection(request, one) === undefined);
    // The SDK's type allows any JSON in a schema; ours is narrower.
    return allowed.map(({ tool }) => tool) as unknown as SdkTool[];
  }

  async function call({ request, reply }: Exchange, one: OperationTool, given: Record<string, unknown>) {
    const { method, url, headers, body, fields, ...sent } = one.toRequest(given);
    const response = await app.inject({
      method: method as 'GET',
      url,
      headers: { ...carriedOn(request), ...resultHeader(fields), ...headers },
      remoteAddress: request.ip,
      signal: callerOf(reply).signal(),
      ...(body && { payload: body }),
    });
    if (response.statusCode >= 400) {
      // An agent sees no headers.
      const seconds = `${response.headers['retry-after']} s`;
      const error = response.body.replace('the seconds in Retry-After', seconds);
      return errorResult(one.explain(JSON.parse(error), sent));
    }
    const hints = hintsOf(given);
    const texts = [
      response.body,
      ...(hints.length > 0 && response.json().pagination?.total === 0 ? hints : []),
    ];
    return { content: texts.map((text) => ({ type: 'text' as const, text })), isError: false };
  }

  function serverFor(exchange: Exchange) {
    const { request } = exchange;
    const server = new sdk.Server({ name, version }, options);
    server.setRequestHandler('tools/list', () => ({ tools: exchange.tools }));
    server.setRequestHandler('tools/call', ({ params: { name, arguments: given = {} } }) => {
      const invalid = (message: string) =>
        new sdk.ProtocolError(sdk.ProtocolErrorCode.InvalidParams, `${message}.`);
      const one = byName.get(name);
      if (!one) throw invalid(`The tool ${name} ${unknownName(name, name, names).message}`);
      const rejected = rejection(request, one);
      if (rejected) throw invalid(`There is no tool ${name}: ${rejected}`);
      return call(exchange, one, given).catch((error: unknown) => {
        if (error instanceof ApiError) return errorResult(errorBody(error));
        throw error;
      });
    });
    return server;
  }

  const hosts = [...sdk.localhostAllowedOrigins(), ...(publicUrl ? [new URL(publicUrl).hostname] : [])];

  /** For revisions up to 2025-11-25, which the SDK's handler would send as events. */
  async function respondInOldRevision(exchange: Exchange, message: Request): Promise<Response> {
    const { method } = exchange.request.body as { method: string };
    const supported = sdk.SUPPORTED_PROTOCOL_VERSIONS;
    const requested = message.headers.get('mcp-protocol-version') ?? supported[0] ?? '';
    if (!supported.includes(requested) && method !== 'initialize') {
      const { code, message, data } = new sdk.UnsupportedProtocolVersionError({ supported, requested });
      return Response.json({ jsonrpc: '2.0', error: { code, message, data }, id: null }, { status: 400 });
    }
    const transport = new sdk.WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
    await serverFor(exchange).connect(transport);
    return transport.handleRequest(message, { parsedBody: exchange.request.body });
  }

  /** The SDK reports what is wrong with a message. */
  async function respond(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { method } = request.body as { method: string };
    const exchange = { request, reply, tools: method === 'tools/list' ? toolsFor(request) : [] };
    const message = new Request('http://localhost/mcp', {
      method: 'POST',
      headers: {
        ...protocolHeaders(request),
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
    });
    const response = (await sdk.isLegacyRequest(message, request.body))
      ? await respondInOldRevision(exchange, message)
      : await sdk
          .createMcpHandler(() => serverFor(exchange), { legacy: 'reject', maxSubscriptions: 0 })
          .fetch(message, { parsedBody: request.body });
    const type = response.headers.get('content-type') ?? 'application/json';
    return reply
      .code(response.status)
      .type(type)
      .send(await response.text());
  }

  return {
    /** Whether pages of this origin may call: a browser elsewhere may not. */
    isAllowed: (origin: string | undefined): boolean => sdk.validateOriginHeader(origin, hosts).ok,
    respond,
  };
}

const protocolHeaders = ({ headers }: FastifyRequest): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      name.startsWith('mcp-') ? [[name, String(value)]] : [],
    ),
  );

export const mcpRoutes: FastifyPluginCallbackZod<McpOptions> = (mcp, options, done) => {
  const started = once(() => startProtocol(options));

  for (const url of ['/mcp', '/mcp/']) {
    // The result of a tool may contain signed links.
    const config = { credential: true } as const;
    const schema = { hide: true, body: Message };
    mcp.post(url, { config, schema, onSend: inProtocol }, async (request, reply) => {
      const protocol = await started();
      if (!protocol.isAllowed(request.headers.origin)) return reply.code(403).send(FOREIGN_ORIGIN);
      const { id, method } = request.body;
      // A server without sessions needs no notifications or responses.
      if (id === undefined || method === undefined) return reply.code(202).send();
      return protocol.respond(request, reply);
    });
    mcp.route({
      method: ['GET', 'DELETE'],
      url,
      schema: { hide: true },
      handler: (_request, reply) => reply.code(405).header('allow', 'POST').send(METHOD_NOT_ALLOWED),
    });
  }
  done();
};
