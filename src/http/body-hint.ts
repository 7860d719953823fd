import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { FieldError } from '../contract/errors.ts';

const SHAPE_ERROR = /^(?:is required|must be an array|must be a JSON object)$/;

const firstOnly = (value: unknown): unknown => (Array.isArray(value) ? value.slice(0, 1) : value);

/** Example values of the invalid fields; of the required fields if the body itself is invalid. */
function expectedShape(schema: z.ZodObject, errors: readonly FieldError[]): Record<string, unknown> {
  const [example = {}] = (z.globalRegistry.get(schema)?.examples ?? []) as Record<string, unknown>[];
  const paths = errors.filter(({ message }) => SHAPE_ERROR.test(message)).map(({ path }) => path);
  const isBroken = ([name, field]: [string, z.core.$ZodType]): boolean =>
    paths.some((path) => new RegExp(`^body\\.${name}(?:[.[]|$)`).test(path)) ||
    (paths.includes('body') && !z.safeParse(field, undefined).success);
  const fields = Object.entries(schema.shape).filter(isBroken);
  const examples = fields.filter(([name]) => name in example);
  return Object.fromEntries(examples.map(([name]) => [name, firstOnly(example[name])]));
}

export function bodyHint(
  request: FastifyRequest,
  reply: FastifyReply,
  errors: readonly FieldError[],
): string {
  const { body } = (request.routeOptions.schema ?? {}) as { body?: unknown };
  const shape = body instanceof z.ZodObject ? expectedShape(body, errors) : {};
  if (Object.keys(shape).length === 0) return '';
  const ignored = request.strictErrors.length === 0 && reply.getHeader('x-ignored-parameters');
  return `${ignored ? ` Ignored: ${ignored}.` : ''} Expected, for example: ${JSON.stringify(shape)}.`;
}
