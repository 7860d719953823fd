import { readFileSync } from 'node:fs';
import type { Tool as SdkTool } from '@modelcontextprotocol/server';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { FastifyPluginCallbackZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { ApiError, type ErrorBody, errorBody } from '../errors.ts';
import { unknownName } from '../http/ignored-parameters.ts';
import { type ApiDocument, type OperationTool, toolsOf } from './tools.ts';

/**
 * The Model Context Protocol at /mcp: streamable HTTP without sessions. Each call of a tool is a request to a route of
 * /v1 with the caller's key, so that limits, errors, tenancy and the log are those of /v1.
 */

export type McpOptions = {
  /** The application that has the routes of /v1, and their document. */
  app: FastifyInstance;
  canWrite: boolean;
};

const { name, version } = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
) as { name: string; version: string };

const INSTRUCTIONS = `The records of one travel agency: products, customers, opportunities, conversations, quotes and team.
Lists have pages: another one exists while offset plus limit is below total. Search with query before you walk through a list.
An error has a code and a message that says what to change.`;

/** One message of JSON-RPC, as the transport reads it. */
const Message = z.object({
  jsonrpc: z.literal('2.0'),
  id: z.union([z.string(), z.number()]).optional(),
  method: z.string().optional(),
  params: z.record(z.string(), z.unknown()).optional(),
  result: z.unknown().optional(),
  error: z.unknown().optional(),
});

/** It takes memory, so it is loaded by the first who asks. */
const loadSdk = () => import('@modelcontextprotocol/server');

const METHOD_NOT_ALLOWED = {
  jsonrpc: '2.0',
  error: { code: -32_000, message: 'This server has no sessions and no stream: send POST.' },
  id: null,
};

/** The headers of a request that its calls carry on. */
function carriedOn({ headers, id }: FastifyRequest): Record<string, string> {
  const names = ['authorization', 'x-api-key'] as const;
  const keys = names.flatMap((name) => (headers[name] === undefined ? [] : [[name, String(headers[name])]]));
  return { ...Object.fromEntries(keys), 'x-request-id': id, prefer: 'handling=strict' };
}

const refused = (error: ErrorBody) => ({
  content: [{ type: 'text' as const, text: JSON.stringify(error) }],
  isError: true,
});

export const mcpRoutes: FastifyPluginCallbackZod<McpOptions> = (mcp, { app, canWrite }, done) => {
  let tools: OperationTool[] | undefined;
  const allTools = () => {
    tools ??= toolsOf(app.swagger() as unknown as ApiDocument);
    return tools;
  };
  const offers = ({ apiKey }: FastifyRequest, { tool }: OperationTool): boolean =>
    tool.annotations.readOnlyHint || (canWrite && apiKey?.access === 'write');

  /** Why there is no such tool. */
  function missing(name: string): string {
    if (allTools().some(({ tool }) => tool.name === name))
      return `There is no tool ${name}: ${canWrite ? 'this key can only read' : 'this service lets agents only read'}.`;
    const names = allTools().map(({ tool }) => tool.name);
    return `The tool ${name} ${unknownName(name, name, names).message}.`;
  }

  async function call(request: FastifyRequest, one: OperationTool, given: Record<string, unknown>) {
    const { method, url, headers, body } = one.toRequest(given);
    const answer = await app.inject({
      method: method as 'GET',
      url,
      headers: { ...carriedOn(request), ...headers },
      remoteAddress: request.ip,
      ...(body && { payload: body }),
    });
    if (answer.statusCode >= 400) return refused(one.explain(answer.json<ErrorBody>()));
    return { content: [{ type: 'text' as const, text: answer.body }], isError: false };
  }

  async function serve(request: FastifyRequest): Promise<Response> {
    const sdk = await loadSdk();
    const server = new sdk.Server(
      { name, version },
      { capabilities: { tools: {} }, instructions: INSTRUCTIONS },
    );
    server.setRequestHandler('tools/list', () => ({
      tools: allTools()
        .filter((one) => offers(request, one))
        // The SDK's type has any JSON in a schema; ours says which.
        .map(({ tool }) => tool as unknown as SdkTool),
    }));
    server.setRequestHandler('tools/call', ({ params }) => {
      const one = allTools().find(({ tool }) => tool.name === params.name);
      if (!one || !offers(request, one))
        throw new sdk.ProtocolError(sdk.ProtocolErrorCode.InvalidParams, missing(params.name));
      return call(request, one, params.arguments ?? {}).catch((error: unknown) => {
        if (error instanceof ApiError) return refused(errorBody(error));
        throw error;
      });
    });
    const transport = new sdk.WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
    await server.connect(transport);
    const headers = new Headers(
      Object.entries(request.headers).map(([name, value]) => [name, String(value)] as [string, string]),
    );
    try {
      const asked = new Request('http://localhost/mcp', { method: 'POST', headers });
      return await transport.handleRequest(asked, { parsedBody: request.body });
    } finally {
      await server.close();
    }
  }

  mcp.post('/mcp', { schema: { hide: true, body: Message } }, async (request, reply) => {
    const answer = await serve(request);
    reply.code(answer.status);
    for (const [name, value] of answer.headers) reply.header(name, value);
    return answer.body === null ? reply.send() : answer.text();
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
