/** The body of a 400 with these validation errors, in this order. */
export const invalid = (...errors: (readonly [path: string, message: string])[]) => ({
  error: {
    code: 'VALIDATION_FAILED',
    message: `The request is not valid: ${errors.map((error) => error.join(' ')).join('; ')}.`,
    details: errors.map(([path, message]) => ({ path, message })),
  },
});

/** For `toMatchObject`: a response with this error. */
export const failed = (status: number, code: string, details?: readonly object[]) => ({
  status,
  body: { error: { code, ...(details && { details }) } },
});

/** For `toMatchObject`: a 400 with these validation errors and no other; a path alone stands for any message. */
export const rejected = (...errors: (string | readonly [path: string, message: string])[]) =>
  failed(
    400,
    'VALIDATION_FAILED',
    errors.map((error) =>
      typeof error === 'string' ? { path: error } : { path: error[0], message: error[1] },
    ),
  );

const SEND_KEY = 'Send one key, as `Authorization: Bearer <key>` or as `x-api-key: <key>`.';

const unauthorized = (reason: string) =>
  ({ error: { code: 'UNAUTHORIZED', message: `${reason} ${SEND_KEY}` } }) as const;

/** The bodies of a 401 of /v1. */
export const UNAUTHORIZED = {
  noKey: unauthorized('No API key was found, or two different ones.'),
  incomplete: unauthorized(
    'This is not a complete API key: its format or its checksum is wrong. Copy the whole key, from `tcrm_` to the last character.',
  ),
  notActive: unauthorized('The API key is not valid: it is unknown, expired or revoked.'),
};
