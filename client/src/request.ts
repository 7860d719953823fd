import { CrmError, type ErrorCode } from './errors.ts';

/** A failed attempt that will be retried. */
export type Retry = {
  method: string;
  path: string;
  error: CrmError;
  /** Milliseconds until the next attempt. */
  wait: number;
};

export type ClientOptions = {
  /** The organization's API key. It is a secret: keep it on a server. */
  apiKey: string;
  /** Address of the service, such as `https://crm.example.com`. */
  baseUrl: string;
  /** Reject unknown fields and parameters, with a suggestion. Default: true. */
  strict?: boolean;
  /** Called with the ignored fields and parameters of a request, such as `body.nickname`. */
  onIgnored?: (names: string[], request: { method: string; path: string }) => void;
  /** Called with each failed attempt that will be retried. */
  onRetry?: (retry: Retry) => void;
  /** Replaces the platform's fetch. */
  fetch?: typeof fetch;
} & RetryOptions;

type RetryOptions = {
  /** Milliseconds that one attempt may take, its response included. Default: 30,000. */
  timeout?: number | undefined;
  /** How often a failed attempt is retried. Waiting for the rate limit (429) does not count, but with 0 a call never waits. Default: 5. */
  retries?: number | undefined;
  /** Milliseconds after the first attempt in which the last one may begin. Default: 120,000. */
  maxRetryTime?: number | undefined;
};

export type RequestOptions = RetryOptions & {
  /** Cancels the call, which then throws the signal's reason. */
  signal?: AbortSignal;
};

export type CreateOptions = RequestOptions & {
  /** 1 to 255 characters. Calls with the same key and body create one record, within 24 hours. Default: a random key. */
  idempotencyKey?: string;
};

export type ChangeOptions = RequestOptions & {
  /** Change the record only if it is unchanged since `get`, `create` or `update` returned this value, or an ETag; else 412. */
  ifMatch?: object | string;
};

/** The metadata of a response. */
export type ResponseInfo = {
  requestId: string | undefined;
  /** The version of the record or page. */
  etag: string | undefined;
  /** An earlier request with this idempotency key created the record. */
  replayed: boolean;
  /** Time of the response by the service's clock, in whole seconds: an HTTP date. */
  date: string | undefined;
};

const infos = new WeakMap<object, ResponseInfo>();

/** The metadata of the response with this body; undefined for an object that no call returned. */
export const responseInfo = (body: object): ResponseInfo | undefined => infos.get(body);

/** @throws TypeError for an object that came without an ETag, such as a row of a list */
function etagOf(version: object | string): string {
  const etag = typeof version === 'string' ? version : infos.get(version)?.etag;
  if (etag === undefined)
    throw new TypeError('ifMatch: this object has no ETag. Read the record with get first.');
  return etag;
}

type Query = Readonly<Record<string, string | number | null | undefined>>;

type Call = {
  query?: Query | undefined;
  body?: object;
  options?: (CreateOptions & ChangeOptions) | undefined;
};

/** Sends a request, with retries. @throws CrmError, or the reason of the signal */
export type Send = (method: string, path: string, call?: Call) => Promise<object>;

const FIRST_WAIT = 250;
const LONGEST_WAIT = 10_000;
/** The rate limit, overload; 502 and 504 are a proxy's words for a broken connection. */
const TRANSIENT = new Set([429, 502, 503, 504]);
/** Timers take no more: they would end at once. */
const LONGEST_TIMER = 2 ** 31 - 1;

/** What each signal cancels. It has one listener for all calls: Node.js 20 warns of a leak at more than ten. */
const endings = new WeakMap<AbortSignal, { ends: Set<() => void>; listener: () => void }>();

/** Calls `end` when the signal aborts. @returns a function that unregisters it */
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

/** Resolves after so many milliseconds, or rejects with the signal's reason. */
function pause(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      unregister();
      resolve();
    }, milliseconds);
    const unregister = endBy(signal, () => {
      clearTimeout(timer);
      unregister();
      reject(signal?.reason);
    });
  });
}

/** The `Retry-After` of the response in milliseconds; 0 without one. */
function retryAfterOf(headers: Headers): number {
  const value = headers.get('retry-after') ?? '0';
  const milliseconds = /^\d+$/.test(value) ? Number(value) * 1_000 : Date.parse(value) - Date.now();
  return Math.max(0, milliseconds || 0);
}

/** 32 hexadecimal digits. Pages without https have no `crypto.randomUUID`. */
const randomKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join(
    '',
  );

type Init = RequestInit & { method: string };

type Outcome =
  | { body: object; ignored: string | null }
  | { error: CrmError; isTransient: boolean; mustWait: boolean; retryAfter: number };

type ErrorBody = { error?: { code?: ErrorCode; message?: string; details?: CrmError['details'] } };

/** The body of the response, or its error and whether a retry can help. */
function read(response: Response, text: string, attempts: number): Outcome {
  const { status, headers } = response;
  const requestId = headers.get('x-request-id') ?? undefined;
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    // The response of a proxy, for example: an error below.
  }
  const ignored = headers.get('x-ignored-parameters');
  if (response.ok && typeof body === 'object' && body !== null) {
    infos.set(body, {
      requestId,
      etag: headers.get('etag') ?? undefined,
      replayed: headers.get('idempotency-replayed') === 'true',
      date: headers.get('date') ?? undefined,
    });
    return { body, ignored };
  }
  const described = (body as ErrorBody | undefined)?.error;
  const error = new CrmError(
    described?.message ??
      `The response (${status}) does not come from the service: ${headers.get('location') ?? text.slice(0, 200)}`,
    {
      status,
      code: described?.code ?? 'UNEXPECTED_RESPONSE',
      ...(described?.details && { details: described.details }),
      requestId,
      attempts,
    },
  );
  const retryAfter = retryAfterOf(headers);
  const isRunning = error.is('IDEMPOTENCY_IN_PROGRESS');
  const isTransient = isRunning || TRANSIENT.has(status);
  return { error, isTransient, mustWait: retryAfter > 0 && (isRunning || status === 429), retryAfter };
}

/** Why fetch rejected. The message of its error says only that it failed; the cause has the reason. */
function reasonOf(cause: unknown): string {
  const { cause: inner, message } = cause as { cause?: unknown; message?: string };
  return (inner as { message?: string } | undefined)?.message || message || String(cause);
}

/** @throws TypeError without a key or an address */
export function createSend({
  apiKey,
  baseUrl,
  strict = true,
  onIgnored,
  onRetry,
  fetch: send = (input, init) => fetch(input, init),
  ...defaults
}: ClientOptions): Send {
  // A header takes no other characters, such as the … of `tcrm_…` in documents: fetch would fail as for a broken connection.
  if (!apiKey || !/^[\s!-~]+$/.test(apiKey))
    throw new TypeError(
      `createClient: apiKey is ${apiKey ? 'not a key' : 'empty'}. The dashboard issues API keys.`,
    );
  // A page may name a path of its own server.
  if (!/^(https?:\/\/[^/]|\/)/i.test(baseUrl))
    throw new TypeError(
      `createClient: baseUrl is ${JSON.stringify(baseUrl)}. It must be the address of the service, such as https://crm.example.com.`,
    );
  const root = baseUrl.replace(/\/+$/, '').replace(/\/v1$/, '');
  /** The rate limit applies to all requests of a key: they wait together. */
  let limitedUntil = 0;

  async function attempt(path: string, init: Init, timeout: number, attempts: number): Promise<Outcome> {
    const controller = new AbortController();
    const { signal, method } = init;
    const unregister = endBy(signal, () => controller.abort(signal?.reason));
    const timer = setTimeout(() => controller.abort(), Math.min(timeout, LONGEST_TIMER));
    try {
      const response = await send(root + path, { ...init, signal: controller.signal });
      const text = await response.text();
      return read(response, text, attempts);
    } catch (cause) {
      signal?.throwIfAborted();
      const isLate = controller.signal.aborted;
      const [code, what]: [ErrorCode, string] = isLate
        ? ['TIMED_OUT', `no response within ${timeout} ms`]
        : ['CONNECTION_FAILED', `the connection failed: ${reasonOf(cause)}`];
      const error = new CrmError(`${method} ${path}: ${what}.`, { status: 0, code, attempts, cause });
      return { error, isTransient: true, mustWait: false, retryAfter: 0 };
    } finally {
      clearTimeout(timer);
      unregister();
    }
  }

  return async (method, path, { query = {}, body, options = {} } = {}) => {
    const {
      timeout = defaults.timeout ?? 30_000,
      retries = defaults.retries ?? 5,
      maxRetryTime = defaults.maxRetryTime ?? 120_000,
    } = options;
    const { signal, ifMatch, idempotencyKey = method === 'POST' ? randomKey() : undefined } = options;
    const parameters = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
    const search = new URLSearchParams(
      parameters.map(([name, value]): [string, string] => [name, String(value)]),
    ).toString();
    const target = `${path}${search && `?${search}`}`;
    const init: Init = {
      method,
      // Followed, a POST would become a GET.
      redirect: 'manual',
      // Throws for a character that no header takes; fetch would fail as for a broken connection.
      headers: new Headers({
        authorization: `Bearer ${apiKey}`,
        ...(strict && { prefer: 'handling=strict' }),
        ...(body && { 'content-type': 'application/json' }),
        ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
        ...(ifMatch !== undefined && { 'if-match': etagOf(ifMatch) }),
      }),
      ...(body && { body: JSON.stringify(body) }),
      ...(signal && { signal }),
    };
    const last = Date.now() + maxRetryTime;
    for (let attempts = 1, failures = 0; ; attempts += 1) {
      signal?.throwIfAborted();
      const held = retries > 0 ? limitedUntil - Date.now() : 0;
      if (held > 0 && Date.now() + held <= last) await pause(held + Math.random() * FIRST_WAIT, signal);
      const outcome = await attempt(target, init, timeout, attempts);
      if ('body' in outcome) {
        if (outcome.ignored !== null) onIgnored?.(outcome.ignored.split(', '), { method, path });
        return outcome.body;
      }
      const { error, isTransient, mustWait, retryAfter } = outcome;
      if (!mustWait) failures += 1;
      // Full jitter: clients that failed together do not come back together.
      const backoff = Math.random() * Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** Math.min(failures, 10));
      const wait = retryAfter + backoff;
      if (!isTransient || retries === 0 || failures > retries || Date.now() + wait > last) throw error;
      if (error.status === 429) limitedUntil = Math.max(limitedUntil, Date.now() + retryAfter);
      onRetry?.({ method, path, error, wait });
      signal?.throwIfAborted();
      await pause(wait, signal);
    }
  };
}
