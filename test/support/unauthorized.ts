const refused = (message: string) => ({ error: { code: 'UNAUTHORIZED', message } }) as const;

/** The three bodies of a 401 of /v1. */
export const UNAUTHORIZED = {
  noKey: refused(
    'No API key was sent, or two that differ; send one as Authorization: Bearer <key> or as x-api-key: <key>.',
  ),
  notWhole: refused(
    'This is not a whole API key: its form or its checksum is wrong; copy all of it, from tcrm_ to the last character.',
  ),
  notLive: refused('The API key does not work: it is unknown, expired or revoked.'),
};
