import { distance } from 'fastest-levenshtein';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ApiError } from '../contract/errors.ts';

type KnownPath = { segments: string[]; methods: Set<string>; filters: ReadonlySet<string> };

const MAX_SEGMENTS = 8;
const MAX_WORD = 40;
const MAX_SUGGESTIONS = 4;

const isParameter = (segment: string): boolean => segment.startsWith(':');

const isWord = (segment: string): boolean => !isParameter(segment) && !/^(?:v\d+|dashboard|)$/.test(segment);

const isNear = (word: string, other: string): boolean =>
  word.length <= MAX_WORD && distance(word, other) <= 1 + other.length / 4;

const segmentsOf = (path: string): string[] => path.split('/').slice(1);

/** `/v1/customers/{customerId}` */
const templateOf = ({ segments }: KnownPath): string =>
  `/${segments.map((segment) => segment.replace(/^:(.*)/, '{$1}')).join('/')}`;

const methodsOf = ({ methods }: KnownPath): string =>
  [...methods].filter((method) => method !== 'HEAD').join(', ');

const isAt = (segments: readonly string[], path: KnownPath): boolean =>
  path.segments.length === segments.length &&
  path.segments.every((segment, index) => isParameter(segment) || segment === segments[index]);

function similarPaths(segments: readonly string[], paths: readonly KnownPath[]): KnownPath[] {
  const words = segments.slice(0, MAX_SEGMENTS).filter(isWord);
  const rated = paths.map((path) => {
    const own = path.segments.filter(isWord);
    return {
      path,
      like: own.filter((word) => words.some((sent) => isNear(sent.toLowerCase(), word))).length,
    };
  });
  const most = Math.max(1, ...rated.map(({ like }) => like));
  const near = rated.filter(({ like }) => like === most).map(({ path }) => path);
  return near.sort((one, other) => one.segments.length - other.segments.length).slice(0, MAX_SUGGESTIONS);
}

/** For `/v1/customers/{customerId}/quotes`: the list of quotes with the filter `customerId`. */
function filteredList(segments: readonly string[], paths: readonly KnownPath[]): string | undefined {
  const [id = '', word = ''] = segments.slice(-2);
  const parent = paths.find((path) => isAt(segments.slice(0, -1), path));
  const name = parent?.segments.at(-1)?.replace(/^:/, '') ?? '';
  const list = paths.find(
    ({ segments, filters }) => filters.has(name) && isNear(word.toLowerCase(), segments.at(-1) ?? ''),
  );
  return list && `GET ${templateOf(list)}?${name}=${id.slice(0, MAX_WORD)}`;
}

/**
 * Call it before the routes are registered.
 * @returns creates the 404 for a request that matches no operation
 */
export function rememberOperations(app: FastifyInstance): (request: FastifyRequest) => ApiError {
  const known = new Map<string, KnownPath>();
  app.addHook('onRoute', ({ url, method, schema }) => {
    if (schema === undefined || schema.hide) return;
    const { shape = {} } = (schema.querystring ?? {}) as { shape?: object };
    const filters = new Set(Object.keys(shape));
    const path = known.get(url) ?? { segments: segmentsOf(url), methods: new Set(), filters };
    known.set(url, path);
    for (const one of [method].flat()) path.methods.add(one);
  });

  return ({ url }) => {
    const paths = [...known.values()];
    const segments = segmentsOf(url.split('?', 1)[0] ?? '');
    const here = paths.find((path) => isAt(segments, path));
    if (here) {
      const hint = `: ${templateOf(here)} supports ${methodsOf(here)}.`;
      return new ApiError('ROUTE_NOT_FOUND', { hint, allow: [...here.methods].join(', ') });
    }
    const intended = filteredList(segments, paths);
    const near = intended
      ? [intended]
      : similarPaths(segments, paths).map((path) => `${methodsOf(path)} ${templateOf(path)}`);
    const lists = paths.filter((path) => !path.segments.some(isParameter)).map(templateOf);
    const hint = near.length > 0 ? `Similar: ${near.join('; ')}.` : `Available: ${lists.join(', ')}.`;
    return new ApiError('ROUTE_NOT_FOUND', { hint: `. ${hint} See /docs.` });
  };
}
