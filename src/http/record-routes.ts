import type { FastifyPluginCallback, FastifyRequest, FastifySchema } from 'fastify';
import { z } from 'zod';
import { ApiError, type ErrorCode, type NotFoundCode, notArchivedCode } from '../contract/errors.ts';
import { dateTime, field, id, NULL_CLEARS, page, pathId, uuid } from '../contract/fields.ts';
import type { Get, IdempotencyKey, Json, OrganizationScope, Page, Put } from '../db/index.ts';
import { inPascalCase, json } from '../openapi/responses.ts';
import { ifMatch, putIfMatch } from './conditional.ts';
import { IDEMPOTENT, idempotent } from './idempotency.ts';

/**
 * The routes of a record. `/v1` and the dashboard API register the same routes, each with its own view: schemas, and
 * functions. A route exists if the view has its function.
 */

type Schemas = {
  record: z.ZodObject;
  query: z.ZodType;
  create?: z.ZodType;
  put?: z.ZodType;
  patch?: z.ZodType;
  archived?: z.ZodType;
};

type Out<Schema> = Schema extends z.ZodType ? z.output<Schema> : never;

type Write<Input, Result> = (scope: OrganizationScope, id: string, input: Input) => Promise<Result>;

type Route = 'list' | 'get' | 'create' | 'put' | 'update' | 'archive' | 'restore';

export type RecordView<S extends Schemas> = {
  schemas: S;
  functions: {
    list: (scope: OrganizationScope, query: Out<S['query']>) => Promise<Json<Page<Out<S['record']>>>>;
    get?: Get<Out<S['record']>>;
    /** `get` under the record's lock, for a PATCH with this body. */
    lock?: (scope: OrganizationScope, id: string, patch?: Out<S['patch']>) => Promise<Json<Out<S['record']>>>;
    /** The same of an archived record too, for a PUT. Default: `lock`. */
    lockStored?: Get<Out<S['record']>>;
    create?: (
      scope: OrganizationScope,
      input: Out<S['create']>,
      key?: IdempotencyKey,
    ) => Promise<Json<Out<S['record']>>>;
    put?: Write<Out<S['put']>, Put<Out<S['record']>>>;
    update?: Write<Out<S['patch']>, Json<Out<S['record']>>>;
    archive?: Get<Out<S['archived']>>;
    restore?: Get<Out<S['record']>>;
  };
  /** The codes of each route, besides that of a record that is not found. */
  codes?: { readonly [Name in Route]?: readonly ErrorCode[] };
  /** Descriptions for the callers of this view, in place of those of the record. */
  descriptions?: { readonly [Name in Route]?: string };
  /** The operation of the list, if its path does not name it. */
  listId?: string;
  /** Of the created record what its request sent, for a key that only creates. */
  asCreated?: (record: Json<Out<S['record']>>, sent: Out<S['create']>) => Json<Out<S['record']>>;
};

/** Infers the types of the schemas. */
export const recordView = <S extends Schemas>(view: RecordView<S>): RecordView<S> => view;

type Words = {
  /** `/pipeline-stages`, the list of `listPipelineStages`. */
  path: string;
  /** `a pipeline stage`, whose id is `pipelineStageId`. */
  title: string;
  /** `PipelineStage`, the record of `getPipelineStage`, if the title does not name it. */
  name?: string;
  /** `pipeline stages` */
  plural: string;
  notFound: NotFoundCode;
  descriptions: { readonly [Name in Route]?: string };
};

export const ArchivedRecord = z
  .object({
    id: field(id(), 'Opaque, immutable identifier.'),
    archivedAt: field(dateTime(), 'When the record was archived.'),
  })
  .meta({ id: 'ArchivedRecord' });

/** For ids that the caller generates. Any other text is 400. */
export const uuidParams = <const Name extends string>(...names: Name[]) =>
  z.object(
    Object.fromEntries(
      names.map((name) => [name, uuid().describe('A UUID that you generate, one for each record.')]),
    ) as Record<Name, z.ZodString>,
  );

function orUndefined(error: unknown): undefined {
  if (error instanceof ApiError && error.status === 404) return;
  throw error;
}

const CHANGES = `Changes only the fields in the body; ${NULL_CLEARS}. A text or a list replaces what was there. If nothing differs, nothing changes`;

/** @returns the plugin of a view */
export const recordRoutes =
  ({ path, title, plural, notFound, ...words }: Words) =>
  <S extends Schemas>({ schemas, functions, codes = {}, ...view }: RecordView<S>): FastifyPluginCallback =>
  (app, _options, done) => {
    const { record } = schemas;
    const { list, get, lock, lockStored = lock, create, put, update, archive, restore } = functions;
    const descriptions = { ...words.descriptions, ...view.descriptions };
    const noun = title.replace(/^an? /, '');
    const idName = `${noun.charAt(0).toLowerCase()}${inPascalCase(noun).slice(1)}Id`;
    const name = words.name ?? inPascalCase(noun);
    const one = `${path}/:${idName}`;
    // Whoever can PUT a record generates its id.
    const params = put ? uuidParams(idName) : z.object({ [idName]: pathId(`Id of the ${noun}.`) });
    const idOf = (request: FastifyRequest) => String((request.params as Record<string, string>)[idName]);
    const current = json(record, `The ${noun} as it is now.`);

    const described = (route: Route, summary: string, schema: FastifySchema, ...description: unknown[]) => ({
      config: {
        errorCodes: [
          ...('params' in schema && route !== 'put' ? [notFound] : []),
          ...(route === 'restore' ? [notArchivedCode(notFound)] : []),
          ...(route === 'create' ? IDEMPOTENT : []),
          ...(codes[route] ?? []),
        ],
      },
      schema: {
        operationId: `${route}${name}`,
        summary,
        description: [...description, descriptions[route]].filter(Boolean).join(' '),
        ...schema,
      },
    });

    app.get(
      path,
      described('list', `List ${plural}`, {
        operationId: view.listId ?? `list${inPascalCase(path)}`,
        querystring: schemas.query,
        response: {
          200: json(page(record).meta({ id: `${record.meta()?.id}List` }), `A page of ${plural}.`),
        },
      }),
      async (request) => list(request.scope, request.query as Out<S['query']>),
    );

    if (create && get)
      app.post(
        path,
        described('create', `Create ${title}`, {
          body: schemas.create,
          response: { 201: json(record, `The ${noun}.`) },
        }),
        async (request, reply) => {
          const body = request.body as Out<S['create']>;
          const created = await idempotent(request, reply, get, (key) => create(request.scope, body, key));
          return request.apiKey?.access === 'create' && view.asCreated
            ? view.asCreated(created, body)
            : created;
        },
      );

    if (get)
      app.get(
        one,
        described('get', `Get ${title}`, { params, response: { 200: json(record, `The ${noun}.`) } }),
        async (request) => get(request.scope, idOf(request)),
      );

    if (put && lockStored)
      app.put(
        one,
        described(
          'put',
          `Create or replace ${title}`,
          {
            params,
            body: schemas.put,
            response: { 201: json(record, `The ${noun}, created.`), 200: current },
          },
          'Omitted fields take the default. Sending the same again changes nothing.',
          archive && `A PUT of an archived ${noun} makes it active, as the body says.`,
        ),
        async (request, reply) => {
          const id = idOf(request);
          return putIfMatch(
            request,
            reply,
            (scope) => lockStored(scope, id).catch(orUndefined),
            (scope) => put(scope, id, request.body as Out<S['put']>),
          );
        },
      );

    if (update && lock)
      app.patch(
        one,
        described(
          'update',
          `Update ${title}`,
          { params, body: schemas.patch, response: { 200: current } },
          'updatedAt' in record.shape ? `${CHANGES}, and \`updatedAt\` stays as it is.` : `${CHANGES}.`,
        ),
        (request) => {
          const body = request.body as Out<S['patch']>;
          return ifMatch(
            request,
            (scope, id) => lock(scope, id, body),
            idOf(request),
            (scope, id) => update(scope, id, body),
          );
        },
      );

    if (archive && lock)
      app.delete(
        one,
        described('archive', `Archive ${title}`, {
          params,
          response: { 200: json(schemas.archived as z.ZodType, `The ${noun} was archived.`) },
        }),
        async (request) => ifMatch(request, lock, idOf(request), archive),
      );

    if (restore)
      app.post(
        `${one}/restore`,
        described(
          'restore',
          `Restore an archived ${noun}`,
          { params, response: { 200: current } },
          `The ${noun} is active again, with all its fields.`,
        ),
        async (request) => restore(request.scope, idOf(request)),
      );
    done();
  };
