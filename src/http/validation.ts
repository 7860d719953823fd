import type { FastifyInstance, FastifyRequest, FastifySchemaCompiler } from 'fastify';
import { z } from 'zod';
import { type FieldError, validationFailed } from '../contract/errors.ts';

const KINDS: Record<string, string> = {
  string: 'a string',
  number: 'a number',
  int: 'an integer',
  boolean: 'true or false',
  array: 'an array',
  object: 'a JSON object',
  record: 'a JSON object',
};

const entries = (amount: number | bigint): string =>
  `${amount} ${Number(amount) === 1 ? 'entry' : 'entries'}`;

/** Each message completes a sentence that begins with the path of the field. */
const inWords: z.core.$ZodErrorMap = (issue) => {
  if (issue.input === undefined && issue.code !== 'custom') return 'is required';
  if (issue.input === null && issue.code !== 'custom') return 'must not be null';
  switch (issue.code) {
    case 'invalid_type':
      // 1e400 is valid JSON, and parsed as Infinity.
      if (typeof issue.input === 'number' && issue.expected === 'number') return 'must be a finite number';
      return `must be ${KINDS[issue.expected] ?? issue.expected}`;
    case 'invalid_value':
      return `must be ${issue.values.length > 1 ? 'one of ' : ''}${issue.values.join(', ')}`;
    case 'too_small':
      return issue.origin === 'array'
        ? `must have at least ${entries(issue.minimum)}`
        : `must be at least ${issue.minimum}`;
    case 'too_big':
      return issue.origin === 'array'
        ? `must have at most ${entries(issue.maximum)}`
        : `must be at most ${issue.maximum}`;
  }
};

export const validate = <Schema extends z.ZodType>(schema: Schema, data: unknown) =>
  schema.safeParse(data, { error: inWords });

export class ValidationError extends Error {
  readonly issues: readonly z.core.$ZodIssue[];
  /** Set by Fastify: `body`, `querystring`, `params`. */
  validationContext?: string;

  constructor(issues: readonly z.core.$ZodIssue[]) {
    super('The request is not valid.');
    this.issues = issues;
  }
}

/** Twenty errors are reported, and one field can break three rules. */
const MAX_ISSUES = 60;

/** False for the length of a text that should be a list, which zod checks all the same. */
const isFirstRule = (
  { code, path }: z.core.$ZodRawIssue,
  _index: number,
  all: z.core.$ZodRawIssue[],
): boolean =>
  code === 'invalid_type' ||
  !all.some((other) => other.code === 'invalid_type' && String(other.path) === String(path));

/** As `safeParse`, but formats only the first issues: a body can have 40,000, and formatting blocks the event loop. */
export const validatorCompiler: FastifySchemaCompiler<z.ZodType> =
  ({ schema }) =>
  (data) => {
    const context = { async: false, error: inWords };
    const { value, issues } = schema._zod.run({ value: data, issues: [] }, context) as z.core.ParsePayload;
    if (issues.length === 0) return { value };
    const first = issues.slice(0, MAX_ISSUES).filter(isFirstRule);
    return {
      error: new ValidationError(
        first.map((issue) => z.core.util.finalizeIssue(issue, context, z.core.config())),
      ),
    };
  };

/** `body.contacts[0].identifierValue` */
export const pathOf = (root: string, path: readonly PropertyKey[]): string =>
  path.reduce<string>(
    (text, step) => (typeof step === 'number' ? `${text}[${step}]` : `${text}.${String(step)}`),
    root,
  );

export function fieldErrorsOf(error: ValidationError, request: FastifyRequest): FieldError[] {
  const root = error.validationContext === 'querystring' ? 'query' : (error.validationContext ?? 'body');
  // Without a body, Fastify validates null.
  if (root === 'body' && request.body === undefined) return [{ path: root, message: 'is required' }];
  const errors = error.issues.map(({ path, message }) => ({
    path: pathOf(root, path),
    message: root === 'query' && isRepeated(request.query, path[0]) ? 'must not be repeated' : message,
  }));
  // A number beyond the range of integers gives the same error twice.
  return [...new Map(errors.map((error) => [`${error.path} ${error.message}`, error])).values()];
}

const ESCAPES = /(?:%[\dA-F]{2})+/gi;

function isUtf8(escapes: string): boolean {
  try {
    return decodeURIComponent(escapes) !== '';
  } catch {
    return false;
  }
}

/** Fastify would leave `P%E9rez`, which is Latin-1, as it is: a search would find nobody. */
export function rejectBadEscapes(app: FastifyInstance): void {
  app.addHook('preValidation', ({ url }, _reply, done) => {
    const query = url.includes('?') ? url.slice(url.indexOf('?') + 1) : '';
    const parts = query.split('&').filter((part) => !(part.match(ESCAPES) ?? []).every(isUtf8));
    const message = 'has an escape that is not UTF-8';
    const errors = parts
      .slice(0, MAX_ISSUES)
      .map((part) => ({ path: `query.${part.split('=', 1)[0]}`, message }));
    done(errors.length > 0 ? validationFailed(errors) : undefined);
  });
}

const isRepeated = (query: unknown, parameter: PropertyKey | undefined): boolean =>
  parameter !== undefined && Array.isArray((query as Record<PropertyKey, unknown>)[parameter]);
