import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { z } from 'zod';
import { ApiError, type ErrorCode } from '../contract/errors.ts';
import { page } from '../contract/fields.ts';
import type { Archived, Get, Json, OrganizationScope, Page, Put } from '../db/index.ts';
import { ifMatch, putIfMatch } from '../http/conditional.ts';
import { json } from '../openapi/responses.ts';
import { ArchivedRecord, OrganizationParams, uuidParams } from './params.ts';

/** Routes of a record whose id the caller generates: list, GET, PUT, PATCH and DELETE. */

type Schemas = { record: z.ZodType; query: z.ZodType; body: z.ZodType; patch: z.ZodType };

type Write<Input, Result> = (scope: OrganizationScope, id: string, input: Input) => Promise<Result>;

type RecordRoutes<S extends Schemas> = S & {
  /** `/pipeline-stages`, the list of `listPipelineStages`. */
  path: string;
  /** `a pipeline stage`, the record of `putPipelineStage` and `pipelineStageId`. */
  title: string;
  /** The description of the list. */
  listed: string;
  /** A sentence for PUT and PATCH. */
  note?: string;
  /** The description of DELETE. */
  archived?: string;
  /** Codes of a rejected PUT. */
  conflicts?: ErrorCode[];
  functions: {
    list: (
      scope: OrganizationScope,
      query: z.output<S['query']>,
    ) => Promise<Json<Page<z.output<S['record']>>>>;
    get: Get<z.output<S['record']>>;
    /** `get` under the record's lock. */
    lock: Get<z.output<S['record']>>;
    put: Write<z.output<S['body']>, Put<z.output<S['record']>>>;
    update: Write<z.output<S['patch']>, Json<z.output<S['record']>>>;
    /** Without it there is no DELETE. */
    archive?: Get<Archived>;
    notFound: ErrorCode;
  };
};

/** `pipeline stage` and `/pipeline-stages` are `PipelineStage` and `PipelineStages`. */
const inPascalCase = (words: string): string =>
  words.replaceAll(/\W?\b(\w)/g, (_start, letter: string) => letter.toUpperCase());

const orUndefined = (error: unknown): undefined => {
  if (error instanceof ApiError && error.status === 404) return;
  throw error;
};

const sentences = (...parts: readonly (string | undefined)[]): string => parts.filter(Boolean).join(' ');

export function recordRoutes<S extends Schemas>(
  untyped: FastifyInstance,
  { path, title, record, query, body, patch, ...texts }: RecordRoutes<S>,
): void {
  const app = untyped.withTypeProvider<ZodTypeProvider>();
  const { listed, note, archived = '', conflicts = [] } = texts;
  const { list, get, lock, put, update, archive, notFound } = texts.functions;
  const noun = title.replace(/^an? /, '');
  const name = inPascalCase(noun);
  const idName = `${name.charAt(0).toLowerCase()}${name.slice(1)}Id`;
  const one = `${path}/:${idName}`;
  const params = uuidParams(idName);

  app.get(
    path,
    {
      schema: {
        operationId: `list${inPascalCase(path)}`,
        summary: `List ${path.slice(1).replaceAll('-', ' ')}`,
        description: listed,
        params: OrganizationParams,
        querystring: query,
        response: { 200: json(page(record).meta({ id: `${name}RecordList` }), 'A page of the list.') },
      },
    },
    async (request) => list(request.scope, request.query as z.output<S['query']>),
  );

  app.get(
    one,
    {
      config: { errorCodes: [notFound] },
      schema: {
        operationId: `get${name}`,
        summary: `Get ${title}`,
        description: `The ${noun} as /v1 returns it, with the fields that only this API writes.`,
        params,
        response: { 200: json(record, `The ${noun}.`) },
      },
    },
    async (request) => get(request.scope, String(request.params[idName])),
  );

  app.put(
    one,
    {
      config: { errorCodes: [...conflicts] },
      schema: {
        operationId: `put${name}`,
        summary: `Create or replace ${title}`,
        description: sentences(
          'Omitted fields take the default. Sending the same again changes nothing.',
          archive && `An archived ${noun} is restored.`,
          note,
        ),
        params,
        body,
        response: {
          201: json(record, `The ${noun}, created.`),
          200: json(record, `The ${noun} as it is now.`),
        },
      },
    },
    async (request, reply) => {
      const id = String(request.params[idName]);
      return putIfMatch(
        request,
        reply,
        (scope) => lock(scope, id).catch(orUndefined),
        (scope) => put(scope, id, request.body as z.output<S['body']>),
      );
    },
  );

  app.patch(
    one,
    {
      config: { errorCodes: [notFound] },
      schema: {
        operationId: `update${name}`,
        summary: `Update ${title}`,
        description: sentences(
          'Changes only the fields in the body; null clears one. If nothing differs, nothing changes.',
          note,
        ),
        params,
        body: patch,
        response: { 200: json(record, `The ${noun} as it is now.`) },
      },
    },
    async (request) =>
      ifMatch(request, lock, String(request.params[idName]), (scope, id) =>
        update(scope, id, request.body as z.output<S['patch']>),
      ),
  );

  if (!archive) return;
  app.delete(
    one,
    {
      config: { errorCodes: [notFound] },
      schema: {
        operationId: `archive${name}`,
        summary: `Archive ${title}`,
        description: archived,
        params,
        response: { 200: json(ArchivedRecord, `The ${noun} was archived.`) },
      },
    },
    async (request) => ifMatch(request, lock, String(request.params[idName]), archive),
  );
}
