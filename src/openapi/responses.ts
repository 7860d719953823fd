import type { z } from 'zod';
import type { ErrorCode } from '../contract/errors.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The codes that only this operation can return. The document adds the codes of its class. */
    errorCodes?: readonly ErrorCode[];
  }
}

export const json = (schema: z.ZodType, description: string): object => ({
  description,
  content: { 'application/json': { schema } },
});
