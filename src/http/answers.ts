import type { FastifyReply, FastifyRequest } from 'fastify';
import type { KnownValue, KnownValues } from '../db/repository/known-values.ts';
import type { Page } from '../db/repository/list.ts';
import type { Json } from '../db/sql/json.ts';

/**
 * Answers with JSON that is already made. The response schema of the route documents it, and the tests hold it to
 * that. It returns the body, because Fastify would wait for a returned reply.
 */
export function answerJson<T>(reply: FastifyReply, body: Json<T>, status = 200): Json<T> {
  reply.code(status).type('application/json; charset=utf-8');
  return body;
}

const EMPTY = Buffer.from('"total":0}}');

const isEmpty = <T>(page: Json<Page<T>>): boolean => page.subarray(-EMPTY.length).equals(EMPTY);

/** `value` or `value (name)`, fit for a header: all but plain characters are percent-encoded. */
const shown = ({ value, name }: KnownValue): string =>
  encodeURIComponent((name === undefined ? value : `${value} (${name})`).slice(0, 100).toWellFormed());

/**
 * Answers with a page. Where a filter has a value that no record of the organization has, `X-Known-Values` says which values
 * there are: `salesStage=new, qualified, won`.
 */
export async function answerPage<T>(
  request: FastifyRequest,
  reply: FastifyReply,
  page: Json<Page<T>>,
  known: KnownValues,
): Promise<Json<Page<T>>> {
  const query = request.query as Record<string, string | undefined>;
  const filters = isEmpty(page) ? Object.keys(known).filter((filter) => query[filter] !== undefined) : [];
  const hints: string[] = [];
  for (const filter of filters) {
    const values = (await known[filter]?.(request.scope)) ?? [];
    const isKnown = values.some(({ value }) => value === query[filter]);
    if (values.length > 0 && !isKnown) hints.push(`${filter}=${values.map(shown).join(', ')}`);
  }
  if (hints.length > 0) reply.header('x-known-values', hints.join('; '));
  return answerJson(reply, page);
}
