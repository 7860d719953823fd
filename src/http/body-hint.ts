import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { FieldError } from './validation.ts';

/** What a person needs beside the faults of a body: the shape that is missing, and the names that had no effect. */

/** Faults of a body that has another shape, not another value. */
const OF_SHAPE = /^(?:is required|must be an array|must be a JSON object)$/;

/** A list with its first entry alone. */
const cut = (value: unknown): unknown => (Array.isArray(value) ? value.slice(0, 1) : value);

/** The fields of the document's example that a fault is in; for a fault of the body itself, those that it must have. */
function expectedShape(schema: z.ZodObject, errors: readonly FieldError[]): Record<string, unknown> {
  const [example = {}] = (z.globalRegistry.get(schema)?.examples ?? []) as Record<string, unknown>[];
  const paths = errors.filter(({ message }) => OF_SHAPE.test(message)).map(({ path }) => path);
  const isMeant = ([name, field]: [string, z.core.$ZodType]): boolean =>
    paths.some((path) => new RegExp(`^body\\.${name}(?:[.[]|$)`).test(path)) ||
    (paths.includes('body') && !z.safeParse(field, undefined).success);
  const fields = Object.entries(schema.shape).filter(isMeant);
  const shown = fields.filter(([name]) => name in example).map(([name]) => [name, cut(example[name])]);
  return Object.fromEntries(shown);
}

/** A sentence or two to end the message with, after a space; nothing where no shape is missing. */
export function bodyHint(
  request: FastifyRequest,
  reply: FastifyReply,
  errors: readonly FieldError[],
): string {
  const { body } = (request.routeOptions.schema ?? {}) as { body?: unknown };
  const shape = body instanceof z.ZodObject ? expectedShape(body, errors) : {};
  if (Object.keys(shape).length === 0) return '';
  const ignored = request.strictErrors.length === 0 && reply.getHeader('x-ignored-parameters');
  return `${ignored ? ` Without effect: ${ignored}.` : ''} What is missing looks like ${JSON.stringify(shape)}.`;
}
