import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { accessError } from '../api-keys/authentication.ts';
import { ApiError, errorBody } from '../contract/errors.ts';
import { presentedKey } from '../http/credentials.ts';
import { COUNTED_ALREADY, isCounted } from '../http/rate-limit.ts';
import type { Needs } from '../http/request.ts';
import { shared } from '../shared.ts';
import { type ApiDocument, isObject, type OperationTool, renamePaths, toolsOf } from './tools.ts';

/**
 * The Model Context Protocol at /mcp: streamable HTTP without sessions. Each tool call is a request to /v1
 * with the caller's key, so rights, errors, tenancy and the log are those of /v1.
 */

export type McpOptions = {
  /** The application with the routes of /v1. */
  app: FastifyInstance;
  /** Their OpenAPI document, as JSON. */
  document: () => string;
  /** What each operation needs of a key. */
  needs: (operationId: string) => Needs;
  canWrite: boolean;
};

const INSTRUCTIONS = `The records of one travel agency.
Lists are paginated: there is another page while offset plus limit is below total. To count records, use limit 1. Search with query before you read a whole list. To find a customer by telephone number, email address or handle, use listCustomers with contact.
createdSince, createdBefore, updatedSince and updatedBefore take date-times such as 2026-11-01T00:00:00Z, or days (in UTC); Since includes that time, Before excludes it. Filters of ids take several ids, separated by commas, or the text null for records without one.
An error has a code, and a message that says what to change.`;

/** The revision that the SDK serves beside those of its list. */
const MODERN = '2026-07-28';

/** The SDK validates it. */
const Message = z.record(z.string(), z.unknown());

const protocolError = (id: unknown, code: number, message: string, data?: object) => ({
  jsonrpc: '2.0',
  error: { code, message, data },
  id,
});

const asText = (isError: boolean, ...texts: string[]) => ({
  content: texts.map((text) => ({ type: 'text' as const, text })),
  isError,
});

const MAX_RESULT_BYTES = 1024 * 1024;

/** Rejects a response of /v1 that is too large for an agent, before it is copied into a result. */
export function boundResults(v1: FastifyInstance): void {
  v1.addHook('onSend', async ({ headers }, _reply, payload) => {
    if (isCounted(headers) && Buffer.isBuffer(payload) && payload.length > MAX_RESULT_BYTES)
      throw new ApiError('VALIDATION_FAILED', 'The result would be larger than 1 MiB. Use a lower `limit`.');
    return payload;
  });
}

export const mcpRoutes: FastifyPluginAsyncZod<McpOptions> = async (
  mcp,
  { app, document, needs, canWrite },
) => {
  const load = shared(async () => {
    const sdk = await import('@modelcontextprotocol/server');
    const api: ApiDocument = JSON.parse(document());
    const tools = toolsOf(api).filter(({ tool }) => canWrite || needs(tool.name).access === 'read');
    return { sdk, tools, serverInfo: { name: api.info.title, version: api.info.version } };
  });
  // After the start, so that no request waits for it. Not the pages: they take 40 MiB, and few ask for one.
  mcp.addHook('onListen', (done) => {
    load().catch(() => undefined);
    done();
  });

  async function call(request: FastifyRequest, one: OperationTool, given: object) {
    const { headers, ...sent } = one.toRequest({ ...given });
    const response = await app.inject({
      ...sent,
      method: one.method as 'GET',
      headers: {
        ...COUNTED_ALREADY,
        ...headers,
        authorization: `Bearer ${presentedKey(request.raw.rawHeaders)}`,
        'x-request-id': request.id,
        prefer: 'handling=strict',
      },
    });
    // An agent sees no headers.
    const ignored = response.headers['x-ignored-parameters'];
    const notes = ignored
      ? [`Ignored, because only responses have it: ${String(ignored).replaceAll('body.', '')}`]
      : [];
    if (response.statusCode < 400) return asText(false, response.body, ...notes);
    const seconds = `${response.headers['retry-after']} s`;
    return asText(true, renamePaths(response.body).replace('the seconds in Retry-After', seconds));
  }

  async function respond(request: FastifyRequest<{ Body: z.infer<typeof Message> }>, reply: FastifyReply) {
    const { sdk, tools, serverInfo } = await load();
    const { headers, body: parsedBody } = request;
    const { id = null, method, params } = parsedBody;
    // Null means absent, also for all arguments.
    if (isObject(params) && params.arguments === null) delete params.arguments;
    const supported = [MODERN, ...sdk.SUPPORTED_PROTOCOL_VERSIONS];
    const requested = String(headers['mcp-protocol-version'] ?? MODERN);
    // The SDK decides where the body names a revision.
    if (!supported.includes(requested) && method !== 'initialize' && Object(params)._meta === undefined) {
      const message = `The MCP-Protocol-Version ${requested} is unknown. Supported: ${supported.join(', ')}.`;
      return reply.code(400).send(protocolError(id, -32_022, message, { supported, requested }));
    }

    /** For one message, as the SDK requires. */
    function createServer() {
      const options = { capabilities: { tools: {} }, instructions: INSTRUCTIONS };
      const server = new sdk.Server(serverInfo, options);
      server.setRequestHandler('tools/list', () => {
        const allowed = tools.filter(({ tool }) => !accessError(request.apiKey, needs(tool.name)));
        return { tools: allowed.map(({ tool }) => tool) };
      });
      server.setRequestHandler('tools/call', ({ params: { name, arguments: given = {} } }) => {
        const one = tools.find(({ tool }) => tool.name === name);
        if (!one) {
          const rule = canWrite ? '' : ' On this service, agents can only read.';
          const message = `There is no tool ${name}. tools/list names the tools.${rule}`;
          throw new sdk.ProtocolError(sdk.ProtocolErrorCode.InvalidParams, message);
        }
        return call(request, one, given).catch((error: unknown) => {
          if (error instanceof ApiError) return asText(true, JSON.stringify(errorBody(error)));
          throw error;
        });
      });
      return server;
    }

    const message = new Request('http://localhost/mcp', {
      method: 'POST',
      headers: {
        ...(headers as Record<string, string>),
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
    });
    let response: Response;
    if (await sdk.isLegacyRequest(message, parsedBody)) {
      // The SDK's handler would send events to these revisions.
      const transport = new sdk.WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
      await createServer().connect(transport);
      response = await transport.handleRequest(message, { parsedBody });
    } else {
      const handler = sdk.createMcpHandler(createServer, { legacy: 'reject', maxSubscriptions: 0 });
      response = await handler.fetch(message, { parsedBody });
    }
    reply.code(response.status).type(response.headers.get('content-type') ?? 'application/json');
    return reply.send(Buffer.from(await response.arrayBuffer()));
  }

  // No check of Origin: a page of another site cannot know the key, which every request needs, so a name that
  // is rebound to this address gives it nothing. Desktop hosts send origins of their own.
  for (const url of ['/mcp', '/mcp/']) {
    // The result of a tool may contain signed links.
    const config = { credential: true } as const;
    mcp.post(url, { config, schema: { hide: true, body: Message } }, respond);
    mcp.route({ method: ['GET', 'DELETE'], url, schema: { hide: true }, handler: onlyPost });
  }
};

const onlyPost = (_request: FastifyRequest, reply: FastifyReply) =>
  reply
    .code(405)
    .header('allow', 'POST')
    .send(protocolError(null, -32_000, 'Send POST: no sessions, no streams.'));
