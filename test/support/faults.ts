import { expect } from 'vitest';

/** The body of a 400 that names these faults, in this order. A hint for newcomers may follow them: test/newcomers.test.ts. */
export const invalid = (...faults: (readonly [path: string, message: string])[]) => ({
  error: {
    code: 'VALIDATION_FAILED',
    message: expect.stringMatching(
      new RegExp(
        `^The request is not valid: ${faults.map((fault) => RegExp.escape(fault.join(' '))).join('; ')}\\.( |$)`,
      ),
    ),
    details: faults.map(([path, message]) => ({ path, message })),
  },
});
