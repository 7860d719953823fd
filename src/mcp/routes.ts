import { readFileSync } from 'node:fs';
import type { JSONRPCMessage, Tool as SdkTool, ServerContext, Transport } from '@modelcontextprotocol/server';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { FastifyPluginCallbackZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { accessError, reaches } from '../api-keys/authentication.ts';
import { ApiError, type ErrorBody, errorBody, validationFailed } from '../contract/errors.ts';
import { callerOf } from '../http/caller.ts';
import { presentedKey } from '../http/credentials.ts';
import { unknownName } from '../http/ignored-parameters.ts';
import { COUNTED_ALREADY } from '../http/rate-limit.ts';
import { knownValuesSaid, withKnownValues } from './known-values.ts';
import { type ApiDocument, cutTo, type OperationTool, toolsOf } from './tools.ts';

/**
 * The Model Context Protocol at /mcp: streamable HTTP without sessions. Each call of a tool is a request to a route of
 * /v1 with the caller's key, so that refusals, errors, tenancy and the log are those of /v1.
 */

export type McpOptions = {
  /** The application that has the routes of /v1. */
  app: FastifyInstance;
  /** The OpenAPI document of these routes, as JSON. */
  document: () => string;
  canWrite: boolean;
};

const { name, version } = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
) as { name: string; version: string };

const DATES = ['createdSince', 'createdBefore', 'updatedSince', 'updatedBefore'];

const instructions = ({ paths, components }: ApiDocument): string => {
  const known = JSON.stringify([paths, components.parameters]);
  const operations = Object.values(paths).flatMap((path) => Object.values(path));
  const kinds = [...new Set(operations.flatMap(({ tags }) => tags))].join(', ').toLowerCase();
  return `The records of one travel agency: ${kinds}.
Lists have pages: another one exists while offset plus limit is below total. To count records, limit 1 is enough. Search with query before you walk through a list. listCustomers with contact finds who has a telephone number, address or handle.
${DATES.filter((one) => known.includes(`"${one}"`)).join(', ')} take date-times such as 2026-11-01T00:00:00Z; since includes that time, before does not.
fields cuts each record to its id and the fields that you name: responses are long without it.
An error has a code, and a message that says what to change.`;
};

/** One message of JSON-RPC, as the transport reads it. */
const Message = z.object({
  jsonrpc: z.literal('2.0'),
  id: z.union([z.string(), z.number()]).optional(),
  method: z.string().optional(),
  params: z.record(z.string(), z.unknown()).optional(),
  result: z.unknown().optional(),
  error: z.unknown().optional(),
});

/** Of a request that no message is read from. */
const refusedRequest = (message: string) => ({
  jsonrpc: '2.0',
  error: { code: -32_000, message },
  id: null,
});

const METHOD_NOT_ALLOWED = refusedRequest('This server has no sessions and no stream: send POST.');

/** The headers of the calls that a request makes. */
const carriedOn = ({ raw, id }: FastifyRequest): Record<string, string> => ({
  ...COUNTED_ALREADY,
  authorization: `Bearer ${presentedKey(raw.rawHeaders)}`,
  'x-request-id': id,
  prefer: 'handling=strict',
});

const errorResult = (error: ErrorBody) => ({
  content: [{ type: 'text' as const, text: JSON.stringify(error) }],
  isError: true,
});

type Exchange = {
  request: FastifyRequest;
  reply: FastifyReply;
  answer: (message: JSONRPCMessage) => void;
};

/**
 * The SDK's server, one for all messages: a ping takes 0.3 ms of processor time, and 0.7 ms with a server and a transport
 * of its own. The server knows a message by a number of ours, so that equal ids of two clients stay apart. It remembers
 * the last `initialize`, and no answer depends on that.
 */
async function startProtocol({ app, document, canWrite }: McpOptions) {
  // It takes memory, so it is loaded at the first message.
  const sdk = await import('@modelcontextprotocol/server');
  const api = JSON.parse(document()) as ApiDocument;
  const all = toolsOf(api);
  const byName = new Map(all.map((one) => [one.tool.name, one]));
  const names = [...byName.keys()];

  const exchanges = new Map<unknown, Exchange>();
  let last = 0;

  function exchangeOf({ mcpReq }: ServerContext): Exchange {
    const exchange = exchanges.get(mcpReq.id);
    if (!exchange) throw new Error('The message has been answered.');
    return exchange;
  }

  /** Why the key may not use the tool; undefined where it may. */
  function refusal(
    { apiKey }: FastifyRequest,
    { tool, method, resource }: OperationTool,
  ): string | undefined {
    if (!tool.annotations.readOnlyHint && !canWrite) return 'this service lets agents only read';
    if (accessError(apiKey, method)) return `this key can only ${apiKey?.access}`;
    return reaches(apiKey, resource) ? undefined : `this key does not reach ${resource}`;
  }

  async function call({ request, reply }: Exchange, one: OperationTool, given: Record<string, unknown>) {
    const { method, url, headers, body, fields } = one.toRequest(given);
    const answer = await app.inject({
      method: method as 'GET',
      url,
      headers: { ...carriedOn(request), ...headers },
      remoteAddress: request.ip,
      signal: callerOf(reply).signal(),
      ...(body && { payload: body }),
    });
    if (answer.statusCode >= 400) return errorResult(one.explain(answer.json<ErrorBody>()));
    const known = answer.headers['x-known-values'];
    const texts = [
      fields ? cutTo(fields, answer.body) : answer.body,
      ...(known === undefined ? [] : [knownValuesSaid(String(known))]),
    ];
    return { content: texts.map((text) => ({ type: 'text' as const, text })), isError: false };
  }

  const server = new sdk.Server(
    { name, version },
    { capabilities: { tools: {} }, instructions: instructions(api) },
  );
  server.setRequestHandler('tools/list', async (_message, context) => {
    const { request } = exchangeOf(context);
    const allowed = all.filter((one) => refusal(request, one) === undefined);
    const tools = await Promise.all(allowed.map(({ tool }) => withKnownValues(tool, request.scope)));
    // The SDK's type has any JSON in a schema; ours says which.
    return { tools: tools as unknown as SdkTool[] };
  });
  server.setRequestHandler('tools/call', ({ params: { name, arguments: given = {} } }, context) => {
    const exchange = exchangeOf(context);
    const invalid = (message: string) =>
      new sdk.ProtocolError(sdk.ProtocolErrorCode.InvalidParams, `${message}.`);
    const one = byName.get(name);
    if (!one) throw invalid(`The tool ${name} ${unknownName(name, name, names).message}`);
    const refused = refusal(exchange.request, one);
    if (refused) throw invalid(`There is no tool ${name}: ${refused}`);
    return call(exchange, one, given).catch((error: unknown) => {
      if (error instanceof ApiError) return errorResult(errorBody(error));
      throw error;
    });
  });
  const transport: Transport = {
    start: async () => undefined,
    close: async () => undefined,
    send: async (message) => {
      if ('id' in message) exchanges.get(message.id)?.answer(message);
    },
  };
  await server.connect(transport);

  return {
    isVersion: (version: string): boolean => sdk.SUPPORTED_PROTOCOL_VERSIONS.includes(version),
    /** @throws VALIDATION_FAILED for parameters that no message has */
    async answer(request: FastifyRequest, reply: FastifyReply, method: string, params: object | undefined) {
      last += 1;
      const message = { jsonrpc: '2.0' as const, id: last, method, ...(params && { params }) };
      // The server would not answer it at all.
      if (!sdk.isJSONRPCRequest(message))
        throw validationFailed([{ path: 'body.params', message: 'must be the parameters of a message' }]);
      const { promise, resolve } = Promise.withResolvers<JSONRPCMessage>();
      exchanges.set(message.id, { request, reply, answer: resolve });
      transport.onmessage?.(message);
      return promise.finally(() => exchanges.delete(message.id));
    },
  };
}

export const mcpRoutes: FastifyPluginCallbackZod<McpOptions> = (mcp, options, done) => {
  let starting: ReturnType<typeof startProtocol> | undefined;

  mcp.post('/mcp', { schema: { hide: true, body: Message } }, async (request, reply) => {
    const { id, method, params } = request.body;
    // Notifications and answers tell nothing to a server without sessions.
    if (id === undefined || method === undefined) return reply.code(202).send();
    starting ??= startProtocol(options);
    const protocol = await starting;
    const spoken = request.headers['mcp-protocol-version'];
    if (spoken !== undefined && method !== 'initialize' && !protocol.isVersion(String(spoken)))
      return reply
        .code(400)
        .send(refusedRequest('The header MCP-Protocol-Version names no version that is supported.'));
    return { ...(await protocol.answer(request, reply, method, params)), id };
  });
  for (const method of ['GET', 'DELETE'] as const) {
    mcp.route({
      method,
      url: '/mcp',
      schema: { hide: true },
      handler: (_request, reply) => reply.code(405).header('allow', 'POST').send(METHOD_NOT_ALLOWED),
    });
  }
  done();
};
