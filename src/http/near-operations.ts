import { distance } from 'fastest-levenshtein';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ApiError } from '../contract/errors.ts';

/** What a request for no operation may mean: the operations of its path, or of one with words like those. */

/** A path with the methods that it takes. */
type Place = { segments: string[]; methods: Set<string>; filters: ReadonlySet<string> };

/** Longer ones are no mistake of typing, and each costs comparisons. */
const MAX_SEGMENTS = 8;
const MAX_WORD = 40;
const MAX_SHOWN = 4;

const isParameter = (segment: string): boolean => segment.startsWith(':');

/** The version and what it stands below are in every path. */
const isWord = (segment: string): boolean => !isParameter(segment) && !/^(?:v\d+|dashboard|)$/.test(segment);

const isNear = (word: string, other: string): boolean =>
  word.length <= MAX_WORD && distance(word, other) <= 1 + other.length / 4;

const segmentsOf = (path: string): string[] => path.split('/').slice(1);

/** `/v1/customers/{customerId}` */
const shown = ({ segments }: Place): string =>
  `/${segments.map((segment) => segment.replace(/^:(.*)/, '{$1}')).join('/')}`;

const methodsOf = ({ methods }: Place): string =>
  [...methods].filter((method) => method !== 'HEAD').join(', ');

const isAt = (segments: readonly string[], place: Place): boolean =>
  place.segments.length === segments.length &&
  place.segments.every((segment, index) => isParameter(segment) || segment === segments[index]);

/** The places that have the most words like those of the path, those with the fewest others first. */
function nearPlaces(segments: readonly string[], places: readonly Place[]): Place[] {
  const words = segments.slice(0, MAX_SEGMENTS).filter(isWord);
  const rated = places.map((place) => {
    const own = place.segments.filter(isWord);
    return {
      place,
      like: own.filter((word) => words.some((sent) => isNear(sent.toLowerCase(), word))).length,
    };
  });
  const most = Math.max(1, ...rated.map(({ like }) => like));
  const near = rated.filter(({ like }) => like === most).map(({ place }) => place);
  return near.sort((one, other) => one.segments.length - other.segments.length).slice(0, MAX_SHOWN);
}

/** `/v1/customers/{customerId}/quotes` means the list of quotes with the filter of that name, where it has one. */
function filteredList(segments: readonly string[], places: readonly Place[]): string | undefined {
  const [id = '', word = ''] = segments.slice(-2);
  const parent = places.find((place) => isAt(segments.slice(0, -1), place));
  const name = parent?.segments.at(-1)?.replace(/^:/, '') ?? '';
  const list = places.find(
    ({ segments, filters }) => filters.has(name) && isNear(word.toLowerCase(), segments.at(-1) ?? ''),
  );
  return list && `GET ${shown(list)}?${name}=${id.slice(0, MAX_WORD)}`;
}

/** Makes the function that answers such a request. It must come before the routes. */
export function rememberOperations(app: FastifyInstance): (request: FastifyRequest) => ApiError {
  const known = new Map<string, Place>();
  app.addHook('onRoute', ({ url, method, schema }) => {
    if (schema === undefined || schema.hide) return;
    const { shape = {} } = (schema.querystring ?? {}) as { shape?: object };
    const filters = new Set(Object.keys(shape));
    const place = known.get(url) ?? { segments: segmentsOf(url), methods: new Set(), filters };
    known.set(url, place);
    for (const one of [method].flat()) place.methods.add(one);
  });

  return ({ url }) => {
    const places = [...known.values()];
    const segments = segmentsOf(url.split('?', 1)[0] ?? '');
    const here = places.find((place) => isAt(segments, place));
    if (here) {
      const message = `There is no such operation: ${shown(here)} takes ${methodsOf(here)}.`;
      return new ApiError('ROUTE_NOT_FOUND', message, { headers: { allow: [...here.methods].join(', ') } });
    }
    const intended = filteredList(segments, places);
    const near = intended
      ? [intended]
      : nearPlaces(segments, places).map((place) => `${methodsOf(place)} ${shown(place)}`);
    const lists = places.filter((place) => !place.segments.some(isParameter)).map(shown);
    const hint = near.length > 0 ? `Near it: ${near.join('; ')}.` : `There are ${lists.join(', ')}.`;
    return new ApiError('ROUTE_NOT_FOUND', `There is no such operation. ${hint} See /docs.`);
  };
}
