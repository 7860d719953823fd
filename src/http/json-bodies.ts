import { errorCodes, type FastifyInstance } from 'fastify';
import { type ApiError, invalid } from '../contract/errors.ts';

/** Our schemas nest 4 levels; unknown names, which are ignored, may nest deeper. */
const MAX_DEPTH = 32;
/** Names, objects and lists. The largest valid body, 500 messages, has 8,000. */
const MAX_PARTS = 12_000;

const UTF8 = new TextDecoder('utf-8', { fatal: true });

const PLAIN_JSON = 'application/json';
const MERGE_PATCH = 'application/merge-patch+json';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const OPENING = [0x5b, 0x7b] as const;
const CLOSING = [0x5d, 0x7d] as const;

/** Rejects bodies too deep or with too many nodes to parse without blocking the event loop. */
export function excessOf(json: Uint8Array): string | undefined {
  let depth = 0;
  let parts = 0;
  let inText = false;
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at];
    if (byte === QUOTE) inText = !inText;
    else if (inText) {
      if (byte === BACKSLASH) at += 1;
    } else if (byte === OPENING[0] || byte === OPENING[1]) {
      depth += 1;
      parts += 1;
      if (depth > MAX_DEPTH) return `must not be nested deeper than ${MAX_DEPTH} levels`;
    } else if (byte === CLOSING[0] || byte === CLOSING[1]) depth -= 1;
    else if (byte === COLON) parts += 1;
    if (parts > MAX_PARTS) return `must have at most ${MAX_PARTS} fields, objects and lists`;
  }
  return undefined;
}

function parse(body: Buffer): { error?: ApiError; value?: unknown } {
  const excess = excessOf(body);
  if (excess !== undefined) return { error: invalid('body', excess) };
  try {
    const value = JSON.parse(UTF8.decode(body));
    // Fastify validates it like an absent body.
    return value === null ? { error: invalid('body', 'must not be null') } : { value };
  } catch (error) {
    const reason = error instanceof SyntaxError ? error.message : 'it is not UTF-8';
    return { error: invalid('body', `must be valid JSON: ${reason}`) };
  }
}

/** Accepts only JSON, and rejects invalid UTF-8 instead of replacing it with U+FFFD. */
export function readJsonBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.decorateRequest('sentBody');
  // Without a body, its type does not matter: some clients send any with a DELETE.
  app.addHook('onRequest', ({ raw: { headers } }, _reply, done) => {
    const isEmpty =
      headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0;
    if (isEmpty && headers['content-type'] !== undefined) headers['content-type'] = undefined;
    done();
  });
  // A chunked body can be empty too.
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) =>
    done(body.length === 0 ? null : new errorCodes.FST_ERR_CTP_INVALID_MEDIA_TYPE()),
  );
  app.addContentTypeParser(
    [PLAIN_JSON, MERGE_PATCH],
    { parseAs: 'buffer' },
    (request, body: Buffer, done) => {
      const isPatch = request.headers['content-type']?.toLowerCase().startsWith(MERGE_PATCH);
      if (isPatch && request.method !== 'PATCH')
        return done(invalid('body', `must be sent with content-type: ${PLAIN_JSON}`));
      if (body.length === 0) return done(null, undefined);
      const { error, value } = parse(body);
      request.sentBody = value;
      done(error ?? null, value);
    },
  );
}
