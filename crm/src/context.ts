import { createInterface } from 'node:readline/promises';
import { type CrmClient, CrmError, createClient, type Retry } from '../../client/src/index.ts';
import type { Output } from './progress.ts';

/** What every command works with. */
export type Context = {
  crm: CrmClient;
  /** There is no API key: nothing can be read from the service. */
  isOffline: boolean;
  /** `report` gets each failed attempt that will be retried. */
  onRetry: { report: (retry: Retry) => void };
  output: NodeJS.WriteStream;
  errors: Output;
  input: NodeJS.ReadStream;
  /** Stops the work, and cancels requests under way. */
  stop: AbortSignal;
};

/** The command cannot go on; its message is shown without a stack. */
export class CommandError extends Error {
  readonly exitCode: number;
  constructor(message: string, exitCode = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** Long enough for the limit of any key. */
const MAX_RETRY_MS = 3_600_000;

export function connect(
  options: { url: string; key: string | undefined; retries: number },
  stop: AbortController,
): Context {
  let isReached = false;
  /** Nothing is retried at an address that has never responded. A connection that was cut has reached a server. */
  async function reach(...request: Parameters<typeof fetch>): Promise<Response> {
    try {
      const response = await fetch(...request);
      isReached = true;
      return response;
    } catch (error) {
      const cause = (error as Error).cause as { code?: string; message?: string } | undefined;
      if (!isReached && cause && !['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'].includes(String(cause.code))) {
        const message = `${options.url} cannot be reached (${cause.message || cause.code}). Set the address of the service with --url or CRM_URL.`;
        stop.abort(new CommandError(message));
      }
      throw error;
    }
  }
  const onRetry: Context['onRetry'] = { report: () => undefined };
  const settings = {
    apiKey: options.key ?? 'none',
    baseUrl: options.url,
    retries: options.retries,
    maxRetryTime: MAX_RETRY_MS,
    onRetry: (retry: Retry) => onRetry.report(retry),
    fetch: reach,
  };
  let crm: CrmClient;
  try {
    crm = createClient(settings);
  } catch (error) {
    throw new CommandError((error as Error).message);
  }
  const isOffline = options.key === undefined;
  const { stdout: output, stderr: errors, stdin: input } = process;
  return { crm, isOffline, onRetry, output, errors, input, stop: stop.signal };
}

export const isOnTerminal = ({ input, errors }: Context): boolean => Boolean(input.isTTY && errors.isTTY);

/** Asks on a terminal; without one, returns the default. */
export async function confirm(context: Context, question: string, preset: boolean): Promise<boolean> {
  const { input, errors, stop } = context;
  if (!isOnTerminal(context)) return preset;
  const reader = createInterface({ input, output: errors });
  // Otherwise the reader would keep Ctrl-C for itself.
  reader.on('SIGINT', () => process.kill(process.pid, 'SIGINT'));
  const options = preset ? '[Y/n]' : '[y/N]';
  const answer = await reader.question(`${question} ${options} `, { signal: stop }).catch(() => {
    throw stop.reason;
  });
  reader.close();
  return answer.trim() === '' ? preset : /^(y|s)/i.test(answer.trim());
}

/** Whether the service rejected the request, and would reject it again; other errors end the run. */
export const isRejection = (error: unknown): error is CrmError =>
  error instanceof CrmError &&
  ([400, 409, 413].includes(error.status) || error.is('CATALOG_PRODUCT_NOT_FOUND')) &&
  !error.is('IDEMPOTENCY_IN_PROGRESS');
