/** The operations of /v1 as tools of the Model Context Protocol, made from their document. */

type Schema = Record<string, unknown>;

type Operation = {
  operationId: string;
  summary: string;
  description: string;
  parameters?: { name: string; in: string; required: boolean; description: string; schema: Schema }[];
  requestBody?: { content: Record<string, { schema: Schema }> };
};

export type ApiDocument = {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
};

type Tool = {
  name: string;
  title: string;
  description: string;
  inputSchema: { type: 'object'; properties: Record<string, object>; required: string[] };
  annotations: {
    readOnlyHint: boolean;
    destructiveHint: boolean;
    idempotentHint: boolean;
    openWorldHint: boolean;
  };
};

type Arguments = Record<string, unknown>;

/** A tool, and the request that a call of it is. */
export type OperationTool = {
  tool: Tool;
  toRequest: (given: Arguments) => { method: string; url: string; body?: Arguments };
};

const REFERENCE = '#/components/schemas/';

/** The schema with the ones that it refers to inside: many models follow no reference. */
function inlined(value: unknown, schemas: Record<string, Schema>): unknown {
  if (Array.isArray(value)) return value.map((entry) => inlined(entry, schemas));
  if (typeof value !== 'object' || value === null) return value;
  const { $ref, ...rest } = value as Schema;
  if (typeof $ref === 'string') return inlined(schemas[$ref.slice(REFERENCE.length)], schemas);
  return Object.fromEntries(Object.entries(rest).map(([key, inner]) => [key, inlined(inner, schemas)]));
}

function inputOf(operation: Operation, schemas: Record<string, Schema>): Tool['inputSchema'] {
  const parameters = (operation.parameters ?? []).filter((parameter) => parameter.in !== 'header');
  const body = inlined(operation.requestBody?.content['application/json']?.schema ?? {}, schemas) as {
    properties?: Record<string, object>;
    required?: string[];
  };
  return {
    type: 'object',
    properties: {
      ...Object.fromEntries(
        parameters.map(({ name, description, schema }) => [name, { ...schema, description }]),
      ),
      ...body.properties,
    },
    required: [
      ...parameters.filter(({ required }) => required).map(({ name }) => name),
      ...(body.required ?? []),
    ],
  };
}

const asText = (value: unknown): string =>
  typeof value === 'object' ? JSON.stringify(value) : String(value);

/** What the path does not take goes into the body where there is one, and else into the query, unknown names too. */
function requestOf(method: string, path: string, hasBody: boolean, given: Arguments) {
  const left = { ...given };
  const filled = path.replace(/\{(\w+)\}/g, (_place, name: string) => {
    const value = asText(left[name] ?? '');
    delete left[name];
    // Dots alone would lead to another path, however they are encoded. In quotes they are an id that nothing has.
    return encodeURIComponent(/^\.{0,2}$/.test(value) ? `"${value}"` : value);
  });
  if (hasBody) return { method, url: filled, body: left };
  const query = new URLSearchParams(
    Object.entries(left).map(([name, value]) => [name, asText(value)] as [string, string]),
  );
  return { method, url: query.size > 0 ? `${filled}?${query}` : filled };
}

/** @param canWrite whether tools that change something are among them */
export function toolsOf({ paths, components }: ApiDocument, canWrite: boolean): OperationTool[] {
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations)
      .filter(([method]) => canWrite || method === 'get')
      .map(([method, operation]) => ({
        tool: {
          name: operation.operationId,
          title: operation.summary,
          description: operation.description,
          inputSchema: inputOf(operation, components.schemas),
          annotations: {
            readOnlyHint: method === 'get',
            // A change overwrites what was there.
            destructiveHint: method === 'patch' || method === 'delete',
            idempotentHint: method !== 'post',
            openWorldHint: false,
          },
        },
        toRequest: (given: Arguments) =>
          requestOf(method.toUpperCase(), path, operation.requestBody !== undefined, given),
      })),
  );
}
