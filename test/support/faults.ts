/** The body of a 400 with these validation errors, in this order. */
export const invalid = (...errors: (readonly [path: string, message: string])[]) => ({
  error: {
    code: 'VALIDATION_FAILED',
    message: `The request is not valid: ${errors.map((error) => error.join(' ')).join('; ')}.`,
    details: errors.map(([path, message]) => ({ path, message })),
  },
});
