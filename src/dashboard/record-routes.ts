import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { z } from 'zod';
import type { Put } from '../db/define/put.ts';
import type { Archived } from '../db/define/write.ts';
import type { OrganizationScope } from '../db/run/scope.ts';
import type { Json } from '../db/sql/json.ts';
import { ApiError, type ErrorCode } from '../errors.ts';
import { answerJson } from '../http/answers.ts';
import { ifMatch, putIfMatch } from '../http/conditional.ts';
import { responses } from '../http/openapi/responses.ts';
import { ArchivedRecord, uuidParams } from './params.ts';

/** Routes of a record whose owner makes its id: PUT writes all of it, DELETE archives it. */

type PutRoute<Answer extends z.ZodType, Body extends z.ZodType> = {
  /** `/quotes`; the id follows. */
  path: string;
  /** `Quote`: the operation is putQuote, the parameter with the id quoteId. */
  name: string;
  /** The record in the descriptions of answers: `quote`. */
  noun: string;
  tags: string[];
  summary: string;
  description: string;
  record: Answer;
  body: Body;
  /** Reads the record under its lock, as its GET shows it; throws its not-found. */
  lock: (scope: OrganizationScope, id: string) => Promise<Json<z.output<Answer>>>;
  put: (scope: OrganizationScope, id: string, input: z.output<Body>) => Promise<Put<z.output<Answer>>>;
};

type RecordRoutes<Answer extends z.ZodType, Body extends z.ZodType> = Pick<
  PutRoute<Answer, Body>,
  'path' | 'name' | 'noun' | 'tags' | 'record' | 'body'
> & {
  /** The record in summaries: `a quote`. */
  title: string;
  /** A sentence more about the PUT. */
  note?: string;
  /** The effect of archiving, for the document. */
  archived: string;
  functions: Pick<PutRoute<Answer, Body>, 'lock' | 'put'> & {
    archive: (scope: OrganizationScope, id: string) => Promise<Json<Archived>>;
    missing: ErrorCode;
  };
};

const idNameOf = (name: string): string => `${name.charAt(0).toLowerCase()}${name.slice(1)}Id`;

const idIn = (params: unknown, idName: string): string => String((params as Record<string, string>)[idName]);

const orUndefined = (error: unknown): undefined => {
  if (error instanceof ApiError && error.status === 404) return;
  throw error;
};

/** PUT: 201 when it creates the record, 200 when it replaces it. */
export function putRoute<Answer extends z.ZodType, Body extends z.ZodType>(
  app: FastifyInstance,
  { path, name, noun, record, body, lock, put, ...texts }: PutRoute<Answer, Body>,
): void {
  const idName = idNameOf(name);
  app.withTypeProvider<ZodTypeProvider>().put(
    `${path}/:${idName}`,
    {
      schema: {
        operationId: `put${name}`,
        ...texts,
        params: uuidParams(idName),
        body,
        response: responses([
          { status: 201, schema: record, description: `The ${noun}, created.` },
          { status: 200, schema: record, description: `The ${noun} as it is now.` },
        ]),
      },
    },
    async (request, reply) => {
      const id = idIn(request.params, idName);
      const { created, body } = await putIfMatch(
        request,
        (scope) => lock(scope, id).catch(orUndefined),
        (scope) => put(scope, id, request.body as z.output<Body>),
      );
      return answerJson(reply, body, created ? 201 : 200);
    },
  );
}

/** PUT, and DELETE, by which the record leaves lists and lookups. With the texts that all such records share. */
export function recordRoutes<Answer extends z.ZodType, Body extends z.ZodType>(
  app: FastifyInstance,
  { title, note, archived, functions, ...common }: RecordRoutes<Answer, Body>,
): void {
  const { path, name, noun, tags } = common;
  const { lock, put, archive, missing } = functions;
  const rule = `Fields left out take the default. The same again changes nothing; an archived ${noun} comes back.`;
  putRoute(app, {
    ...common,
    summary: `Create or replace ${title}`,
    description: [rule, note].filter(Boolean).join(' '),
    lock,
    put,
  });
  const idName = idNameOf(name);
  app.delete(
    `${path}/:${idName}`,
    {
      schema: {
        operationId: `archive${name}`,
        tags,
        summary: `Archive ${title}`,
        description: archived,
        params: uuidParams(idName),
        response: responses(
          { status: 200, schema: ArchivedRecord, description: `The ${noun} was archived.` },
          missing,
        ),
      },
    },
    async (request, reply) => {
      const id = idIn(request.params, idName);
      return answerJson(reply, await ifMatch(request, lock, id, (scope) => archive(scope, id)));
    },
  );
}
