import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type ApiError, REFUSALS, validationFailed } from '../../contract/errors.ts';
import { createRefusals } from './admission.ts';
import { isInner } from './inner.ts';
import { createRoom } from './room.ts';

/** Reading JSON bodies, so that the largest and strangest of one organization are nobody else's trouble. */

declare module 'fastify' {
  interface FastifyRequest {
    /** The JSON body as it was sent, with the names that have no effect; undefined for none. */
    sentBody: unknown;
  }
}

/** Our schemas nest 4 levels. Names that they do not have may nest deeper, and are ignored. */
const MAX_DEPTH = 32;
/** Names, objects and lists. The largest body that a schema takes, 500 messages, has 8,000 of them. */
const MAX_PARTS = 12_000;

/** From here on a body is worth waiting for: it takes a millisecond or more to read, parse and check. */
const LARGE = 16 * 1024;

const UTF8 = new TextDecoder('utf-8', { fatal: true });

const bodyFault = (message: string): ApiError => validationFailed([{ path: 'body', message }]);

const JSON_TYPE = 'application/json';
/** What a PATCH of this API is by RFC 7396, also when it is sent as JSON. */
const MERGE_PATCH = 'application/merge-patch+json';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const OPENING = [0x5b, 0x7b] as const;
const CLOSING = [0x5d, 0x7d] as const;

/** Too much nesting or too many names, found before the body is parsed: 1 ms for a megabyte. The parser finds what is no JSON. */
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
    if (parts > MAX_PARTS) return `must have at most ${MAX_PARTS} names, objects and lists`;
  }
  return undefined;
}

/** Where the text is no JSON, in the words of the parser: it names the place, or shows what is around it. */
const placeOf = ({ message }: SyntaxError): string =>
  message.replace(/ in JSON at position/, ' at position').replace(/,? is not valid JSON$/, '');

function parse(body: Buffer): { fault?: ApiError; value?: unknown } {
  const excess = excessOf(body);
  if (excess !== undefined) return { fault: bodyFault(excess) };
  try {
    return { value: JSON.parse(UTF8.decode(body)) };
  } catch (error) {
    const isJson = error instanceof SyntaxError;
    return { fault: bodyFault(isJson ? `must be valid JSON: ${placeOf(error)}` : 'must be JSON in UTF-8') };
  }
}

/** Takes JSON in UTF-8 alone. Bytes that are no UTF-8 are refused, and not replaced by U+FFFD. */
export function readJsonBodies(app: FastifyInstance): void {
  const inTurn = createTurns();
  app.removeAllContentTypeParsers();
  app.decorateRequest('sentBody');
  app.addContentTypeParser([JSON_TYPE, MERGE_PATCH], { parseAs: 'buffer' }, (request, body: Buffer, done) => {
    const isPatch = request.headers['content-type']?.toLowerCase().startsWith(MERGE_PATCH);
    if (isPatch && request.method !== 'PATCH')
      return done(bodyFault(`must be sent with content-type: ${JSON_TYPE}`));
    if (!/^(identity)?$/i.test(request.headers['content-encoding'] ?? '')) {
      return done(bodyFault('must not be compressed'));
    }
    // A DELETE with a content type and no body is a DELETE without a body.
    if (body.length === 0) return done(null, undefined);
    const read = (): void => {
      const { fault, value } = parse(body);
      request.sentBody = value;
      done(fault ?? null, value);
    };
    if (body.length > LARGE) inTurn(read);
    else read();
  });
  boundBodies(app);
}

/**
 * One piece of work after another, each followed by a rest as long as it took: whatever arrives, half of the event loop's
 * time is left to everything else.
 * Measured before refusals waited, beside fifty clients with the two worst bodies: another one's get took 9 to 17 ms more
 * with turns, 31 to 45 ms more without.
 */
function createTurns(): (work: () => void) => void {
  const due: (() => void)[] = [];
  let isResting = false;
  function next(): void {
    const work = due.shift();
    isResting = work !== undefined;
    if (!work) return;
    const start = performance.now();
    try {
      work();
    } finally {
      setTimeout(next, Math.ceil(performance.now() - start));
    }
  }
  return (work) => {
    due.push(work);
    if (!isResting) next();
  };
}

const isLarge = ({ headers }: FastifyRequest): boolean =>
  (Number(headers['content-length'] ?? 0) > LARGE || headers['transfer-encoding'] !== undefined) &&
  /^application\/(merge-patch\+)?json/i.test(headers['content-type'] ?? '');

/** Bytes of large bodies at once: each is in memory until it is answered. One organization alone has half. */
const BODIES = 64 * 1024 * 1024;

/**
 * Refuses (503) a large body before it is read while its organization has too many. Without a length it counts as the largest.
 * The refusal waits, as that of a flood does: sent at once, it brings the next body. With the wait that get takes 0.2 ms more.
 */
function boundBodies(app: FastifyInstance): void {
  const room = createRoom(BODIES);
  const refuseLate = createRefusals();
  app.addHook('preParsing', (request, reply, payload, done) => {
    if (!isLarge(request) || isInner(request)) return done(null, payload);
    const { bodyLimit } = request.routeOptions;
    const bytes = Math.min(Number(request.headers['content-length'] ?? bodyLimit), bodyLimit);
    if (!room.has(reply, bytes)) return refuseLate(() => done(REFUSALS.full));
    room.keep(reply, bytes);
    done(null, payload);
  });
}
