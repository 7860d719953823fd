import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { z } from 'zod';
import type { Archived } from '../db/define/archive.ts';
import type { Put } from '../db/define/put.ts';
import type { OrganizationScope } from '../db/run/scope.ts';
import type { Json } from '../db/sql/json.ts';
import { ApiError, type ErrorCode } from '../errors.ts';
import { answerJson } from '../http/answers.ts';
import { ifMatch, putIfMatch } from '../http/conditional.ts';
import { responses } from '../http/openapi/openapi.ts';
import { ArchivedRecord, uuidParams } from './params.ts';

/** Routes of a record whose owner makes its id: PUT writes all of it, DELETE archives it. */

/** The texts of an operation, for the documents. */
type Texts = { operationId: string; tags: string[]; summary: string; description: string };

/** Reads the record under its lock, as its GET shows it; throws its not-found. */
type Lock<T> = (scope: OrganizationScope, id: string) => Promise<Json<T>>;

type RecordPath = {
  /** `/quotes`; the id follows. */
  path: string;
  /** The parameter with the record's id: `quoteId`. */
  idName: string;
  /** The record in the descriptions of answers: `quote`. */
  noun: string;
};

type PutRoute<Answer extends z.ZodType, Body extends z.ZodType> = RecordPath &
  Texts & {
    record: Answer;
    body: Body;
    lock: Lock<z.output<Answer>>;
    put: (scope: OrganizationScope, id: string, input: z.output<Body>) => Promise<Put<z.output<Answer>>>;
  };

type ArchiveRoute = RecordPath &
  Texts & {
    missing: ErrorCode;
    /** Reads the record under its lock, for If-Match. */
    lock: (scope: OrganizationScope, id: string) => Promise<Json<unknown>>;
    archive: (scope: OrganizationScope, id: string) => Promise<Json<Archived>>;
  };

type RecordRoutes<Answer extends z.ZodType, Body extends z.ZodType> = RecordPath & {
  /** `Quote`: the operations are putQuote and archiveQuote. */
  name: string;
  /** The record in summaries: `a quote`. */
  title: string;
  tags: string[];
  record: Answer;
  body: Body;
  missing: ErrorCode;
  /** A sentence more about the PUT. */
  note?: string;
  /** The effect of archiving, for the document. */
  archived: string;
  functions: Pick<PutRoute<Answer, Body>, 'lock' | 'put'> & Pick<ArchiveRoute, 'archive'>;
};

const idIn = (params: unknown, idName: string): string => String((params as Record<string, string>)[idName]);

const orUndefined = (error: unknown): undefined => {
  if (error instanceof ApiError && error.status === 404) return;
  throw error;
};

/** PUT: 201 when it creates the record, 200 when it replaces it. */
export function putRoute<Answer extends z.ZodType, Body extends z.ZodType>(
  app: FastifyInstance,
  { path, idName, noun, record, body, lock, put, ...texts }: PutRoute<Answer, Body>,
): void {
  app.withTypeProvider<ZodTypeProvider>().put(
    `${path}/:${idName}`,
    {
      schema: {
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

/** DELETE: the record leaves lists and lookups. */
function archiveRoute(
  app: FastifyInstance,
  { path, idName, noun, missing, lock, archive, ...texts }: ArchiveRoute,
): void {
  app.delete(
    `${path}/:${idName}`,
    {
      schema: {
        ...texts,
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

/** PUT and DELETE, with the texts that all such records share. */
export function recordRoutes<Answer extends z.ZodType, Body extends z.ZodType>(
  app: FastifyInstance,
  {
    name,
    title,
    tags,
    record,
    body,
    missing,
    note,
    archived,
    functions,
    ...path
  }: RecordRoutes<Answer, Body>,
): void {
  const { lock, put, archive } = functions;
  const rule = `Fields left out take the default. The same again changes nothing; an archived ${path.noun} comes back.`;
  putRoute(app, {
    ...path,
    operationId: `put${name}`,
    tags,
    summary: `Create or replace ${title}`,
    description: [rule, note].filter(Boolean).join(' '),
    record,
    body,
    lock,
    put,
  });
  archiveRoute(app, {
    ...path,
    operationId: `archive${name}`,
    tags,
    summary: `Archive ${title}`,
    description: archived,
    missing,
    lock,
    archive,
  });
}
