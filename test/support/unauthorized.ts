const unauthorized = (message: string) => ({ error: { code: 'UNAUTHORIZED', message } }) as const;

/** The bodies of a 401 of /v1. */
export const UNAUTHORIZED = {
  noKey: unauthorized(
    'No API key was found. Send one key, as `Authorization: Bearer <key>` or as `x-api-key: <key>`.',
  ),
  incomplete: unauthorized(
    'This is not a complete API key: its format or its checksum is wrong. Copy the whole key, from `tcrm_` to the last character.',
  ),
  notActive: unauthorized('The API key is not valid: it is unknown, expired or revoked.'),
};
