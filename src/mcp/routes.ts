import { readFileSync } from 'node:fs';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { FastifyPluginCallbackZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
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

/** The SDK takes 30 MB, so it is loaded by the first who asks. */
async function loadSdk() {
  const [{ Server }, { WebStandardStreamableHTTPServerTransport }, types] = await Promise.all([
    import('@modelcontextprotocol/sdk/server/index.js'),
    import('@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'),
    import('@modelcontextprotocol/sdk/types.js'),
  ]);
  return { Server, Transport: WebStandardStreamableHTTPServerTransport, ...types };
}

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

export const mcpRoutes: FastifyPluginCallbackZod<McpOptions> = (mcp, { app, canWrite }, done) => {
  let tools: Map<string, OperationTool> | undefined;
  const knownTools = () => {
    tools ??= new Map(
      toolsOf(app.swagger() as unknown as ApiDocument, canWrite).map((one) => [one.tool.name, one]),
    );
    return tools;
  };

  async function call(request: FastifyRequest, { toRequest }: OperationTool, given: Record<string, unknown>) {
    const { method, url, body } = toRequest(given);
    const answer = await app.inject({
      method: method as 'GET',
      url,
      headers: carriedOn(request),
      remoteAddress: request.ip,
      ...(body && { payload: body }),
    });
    return {
      content: [{ type: 'text' as const, text: answer.body }],
      isError: answer.statusCode >= 400,
    };
  }

  async function serve(request: FastifyRequest): Promise<Response> {
    const sdk = await loadSdk();
    const server = new sdk.Server(
      { name, version },
      { capabilities: { tools: {} }, instructions: INSTRUCTIONS },
    );
    server.setRequestHandler(sdk.ListToolsRequestSchema, () => ({
      tools: [...knownTools().values()].map(({ tool }) => tool),
    }));
    server.setRequestHandler(sdk.CallToolRequestSchema, ({ params }) => {
      const tool = knownTools().get(params.name);
      if (!tool) throw new sdk.McpError(sdk.ErrorCode.InvalidParams, `There is no tool ${params.name}.`);
      return call(request, tool, params.arguments ?? {});
    });
    const transport = new sdk.Transport({ enableJsonResponse: true });
    // The transport's own type does not say that its handlers may be undefined.
    await server.connect(transport as Parameters<typeof server.connect>[0]);
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
