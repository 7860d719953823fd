import type { z } from 'zod';
import type { ErrorCode } from '../contract/errors.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The codes that only this operation can return. The document adds the codes of its class. */
    errorCodes?: readonly ErrorCode[];
  }
}

type Success = { status: 200 | 201; schema: z.ZodType; description: string };

export const responses = (success: Success | readonly Success[]) =>
  Object.fromEntries(
    [success].flat().map(({ status, schema, description }) => {
      return [status, { description, content: { 'application/json': { schema } } }];
    }),
  );
