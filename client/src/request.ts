import { CrmError, type ErrorCode } from './errors.ts';

/** A try that failed and will be repeated. */
export type Retry = {
  method: string;
  path: string;
  error: CrmError;
  /** Milliseconds until the next try. */
  wait: number;
};

export type ClientOptions = {
  /** The organization's API key. It is a secret: keep it on a server. */
  apiKey: string;
  /** Where the service answers, such as `https://crm.example.com`. */
  baseUrl: string;
  /** Have names that mean nothing refused with a suggestion. Default: true. */
  strict?: boolean;
  /** Told the names in a request that had no effect, such as `body.nickname`. */
  onIgnored?: (names: string[], request: { method: string; path: string }) => void;
  /** Told each try that failed and will be repeated. */
  onRetry?: (retry: Retry) => void;
  /** Replaces the platform's fetch. */
  fetch?: typeof fetch;
} & RetryOptions;

type RetryOptions = {
  /** Milliseconds that one try may take, its answer included. Default: 30,000. */
  timeout?: number;
  /** How often a try that failed is repeated. Waiting that the service asks for (429) does not count. Default: 5. */
  retries?: number;
  /** Milliseconds after the first try in which the last may begin. Default: 120,000. */
  maxRetryTime?: number;
};

export type RequestOptions = RetryOptions & {
  /** Ends the call, its tries and its waiting; the call then throws the signal's reason. */
  signal?: AbortSignal;
};

export type CreateOptions = RequestOptions & {
  /** 1 to 255 characters: calls with one key and one body make one record, within 24 hours. Default: a random one. */
  idempotencyKey?: string;
};

export type ChangeOptions = RequestOptions & {
  /** Change the record only if it is still this one: what `get`, `create` or `update` returned, or an ETag. Else 412. */
  ifMatch?: object | string;
};

/** What an answer said beside its body. */
export type AnswerInfo = {
  requestId: string | undefined;
  /** The version of the record or page. */
  etag: string | undefined;
  /** The record was made by an earlier request with this idempotency key. */
  replayed: boolean;
  /** When the service answered, by its own clock, in whole seconds: an HTTP date. */
  date: string | undefined;
};

const answers = new WeakMap<object, AnswerInfo>();

/** What the answer said beside this body; undefined for anything that no call returned. */
export const answerInfo = (body: object): AnswerInfo | undefined => answers.get(body);

/** @throws TypeError for an object that came with no version, such as a row of a list */
function etagOf(version: object | string): string {
  const etag = typeof version === 'string' ? version : answers.get(version)?.etag;
  if (etag === undefined) throw new TypeError('ifMatch: this object has no ETag; read it by get first.');
  return etag;
}

type Query = Readonly<Record<string, string | number | null | undefined>>;

type Call = {
  query?: Query | undefined;
  body?: object;
  options?: (CreateOptions & ChangeOptions) | undefined;
  /** The tag of what is there already: the call then returns undefined if it is unchanged. */
  ifNoneMatch?: string | undefined;
};

/** Sends a request until it is answered. @throws CrmError, or the reason of the signal */
export type Send = (method: string, path: string, call?: Call) => Promise<object | undefined>;

const FIRST_WAIT = 250;
const LONGEST_WAIT = 10_000;
/** Broken on the way, or told to come back: 502 and 504 are a proxy's words for a broken connection. */
const PASSING = new Set([0, 429, 502, 503, 504]);

/** What each signal ends. They share one listener: Node.js 20 takes more than ten on a signal for a leak. */
const endings = new WeakMap<AbortSignal, { ends: Set<() => void>; listener: () => void }>();

/** Has the signal end something. @returns takes that back */
function endBy(signal: AbortSignal | null | undefined, end: () => void): () => void {
  if (!signal) return () => undefined;
  let shared = endings.get(signal);
  if (!shared) {
    const ends = new Set<() => void>();
    const listener = (): void => {
      for (const one of ends) one();
    };
    shared = { ends, listener };
    endings.set(signal, shared);
    signal.addEventListener('abort', shared.listener, { once: true });
  }
  const { ends, listener } = shared;
  ends.add(end);
  return () => {
    ends.delete(end);
    if (ends.size > 0) return;
    endings.delete(signal);
    signal.removeEventListener('abort', listener);
  };
}

/** Resolves after so many milliseconds; rejects with the signal's reason when that comes first. */
function pause(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      takeBack();
      resolve();
    }, milliseconds);
    const takeBack = endBy(signal, () => {
      clearTimeout(timer);
      takeBack();
      reject(signal?.reason);
    });
  });
}

/** Milliseconds that the answer asks to wait; undefined where it does not. */
function retryAfter(headers: Headers): number | undefined {
  const value = headers.get('retry-after');
  if (value === null) return undefined;
  const milliseconds = /^\d+$/.test(value) ? Number(value) * 1_000 : Date.parse(value) - Date.now();
  return Number.isNaN(milliseconds) ? undefined : Math.max(0, milliseconds);
}

/** 32 hexadecimal digits. `crypto.randomUUID` is not there on pages without https. */
const randomKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join(
    '',
  );

type Init = RequestInit & { method: string };

type Outcome =
  | { body: object | undefined; ignored: string | null }
  | { error: CrmError; isPassing: boolean; isToldToWait: boolean; asked: number | undefined };

type ErrorBody = { error?: { code?: ErrorCode; message?: string; details?: CrmError['details'] } };

/** What an answer means: its body, or what failed and whether that passes. */
function read(response: Response, text: string, attempts: number): Outcome {
  const { status, headers } = response;
  const requestId = headers.get('x-request-id') ?? undefined;
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    // An answer of something between here and the service: told below as what it is.
  }
  const ignored = headers.get('x-ignored-parameters');
  if (status === 304) return { body: undefined, ignored };
  if (response.ok && typeof body === 'object' && body !== null) {
    answers.set(body, {
      requestId,
      etag: headers.get('etag') ?? undefined,
      replayed: headers.get('idempotency-replayed') === 'true',
      date: headers.get('date') ?? undefined,
    });
    return { body, ignored };
  }
  const said = (body as ErrorBody | undefined)?.error;
  const error = new CrmError(
    said?.message ?? `The answer (${status}) is not the service's: ${text.slice(0, 200)}`,
    {
      status,
      code: said?.code ?? 'UNEXPECTED_ANSWER',
      ...(said?.details && { details: said.details }),
      requestId,
      attempts,
    },
  );
  const isToldToWait = status === 429 || error.code === 'IDEMPOTENCY_IN_PROGRESS';
  const isPassing = isToldToWait || PASSING.has(status);
  return { error, isPassing, isToldToWait, asked: retryAfter(headers) };
}

/** Why fetch rejected: its own message only says that it did. */
function reasonOf(cause: unknown): string {
  const { cause: inner, message } = cause as { cause?: unknown; message?: string };
  return (inner as { message?: string } | undefined)?.message || message || String(cause);
}

/** The one place that sends: with the key, in tries, each of limited time. @throws TypeError without a key or an address */
export function createSend({
  apiKey,
  baseUrl,
  strict = true,
  onIgnored,
  onRetry,
  fetch: send = (input, init) => fetch(input, init),
  ...defaults
}: ClientOptions): Send {
  if (!apiKey) throw new TypeError('createClient: apiKey is empty. It is the key that the dashboard showed.');
  // A page may name a path of its own server.
  if (!/^(https?:\/\/[^/]|\/)/i.test(baseUrl))
    throw new TypeError(
      `createClient: baseUrl is ${JSON.stringify(baseUrl)}. It is where the service answers, such as https://crm.example.com.`,
    );
  const root = baseUrl.replace(/\/+$/, '').replace(/\/v1$/, '');
  /** A key over its limit is over it for all of its requests: they wait together. */
  let limitedUntil = 0;

  async function attempt(path: string, init: Init, timeout: number, attempts: number): Promise<Outcome> {
    const controller = new AbortController();
    const { signal, method } = init;
    const takeBack = endBy(signal, () => controller.abort(signal?.reason));
    const timer = setTimeout(() => controller.abort(), timeout);
    try {
      const response = await send(root + path, { ...init, signal: controller.signal });
      const text = await response.text();
      return read(response, text, attempts);
    } catch (cause) {
      signal?.throwIfAborted();
      const isLate = controller.signal.aborted;
      const [code, what]: [ErrorCode, string] = isLate
        ? ['TIMED_OUT', `no answer within ${timeout} ms`]
        : ['CONNECTION_FAILED', `the connection failed: ${reasonOf(cause)}`];
      const error = new CrmError(`${method} ${path}: ${what}.`, { status: 0, code, attempts, cause });
      return { error, isPassing: true, isToldToWait: false, asked: undefined };
    } finally {
      clearTimeout(timer);
      takeBack();
    }
  }

  return async (method, path, { query = {}, body, options = {}, ifNoneMatch } = {}) => {
    const { timeout = 30_000, retries = 5, maxRetryTime = 120_000 } = { ...defaults, ...options };
    const { signal, ifMatch, idempotencyKey = method === 'POST' ? randomKey() : undefined } = options;
    const parameters = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
    const search = new URLSearchParams(
      parameters.map(([name, value]): [string, string] => [name, String(value)]),
    ).toString();
    const target = `${path}${search && `?${search}`}`;
    const init: Init = {
      method,
      headers: {
        authorization: `Bearer ${apiKey}`,
        ...(strict && { prefer: 'handling=strict' }),
        ...(body && { 'content-type': 'application/json' }),
        ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
        ...(ifMatch !== undefined && { 'if-match': etagOf(ifMatch) }),
        ...(ifNoneMatch !== undefined && { 'if-none-match': ifNoneMatch }),
      },
      ...(body && { body: JSON.stringify(body) }),
      ...(signal && { signal }),
    };
    const last = Date.now() + maxRetryTime;
    for (let attempts = 1, failures = 0; ; attempts += 1) {
      signal?.throwIfAborted();
      const held = limitedUntil - Date.now();
      if (held > 0 && Date.now() + held <= last) await pause(held + Math.random() * FIRST_WAIT, signal);
      const outcome = await attempt(target, init, timeout, attempts);
      if ('body' in outcome) {
        if (outcome.ignored !== null) onIgnored?.(outcome.ignored.split(', '), { method, path });
        return outcome.body;
      }
      const { error, isPassing, isToldToWait, asked = 0 } = outcome;
      if (!isToldToWait) failures += 1;
      // Full jitter: clients that failed together do not come back together.
      const backoff = Math.random() * Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** Math.min(failures, 10));
      const wait = asked + backoff;
      if (!isPassing || failures > retries || Date.now() + wait > last) throw error;
      if (error.status === 429) limitedUntil = Math.max(limitedUntil, Date.now() + asked);
      onRetry?.({ method, path, error, wait });
      await pause(wait, signal);
    }
  };
}
