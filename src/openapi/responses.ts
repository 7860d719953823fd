import type { z } from 'zod';
import { type ErrorCode, statusOf } from '../contract/errors.ts';

type Success = { status: 200 | 201; schema: z.ZodType; description: string };

/** The responses of an operation: its successes, and its own error codes. The document adds the codes of its class. */
export function responses(success: Success | readonly Success[], ...codes: ErrorCode[]) {
  const answers = [success].flat().map(({ status, schema, description }) => {
    return [status, { description, content: { 'application/json': { schema } } }];
  });
  const errors = [...Map.groupBy(new Set(codes), statusOf)].map(([status, codes]) => [status, { codes }]);
  return Object.fromEntries([...answers, ...errors]);
}

/** What `responses` made, taken apart again: the successes by their status, and the codes. */
export function declared(response: unknown): { successes: Record<string, object>; codes: ErrorCode[] } {
  const all = Object.entries((response ?? {}) as Record<string, object | { codes: ErrorCode[] }>);
  return {
    successes: Object.fromEntries(all.filter(([, one]) => !('codes' in one))),
    codes: all.flatMap(([, one]) => ('codes' in one ? one.codes : [])),
  };
}
