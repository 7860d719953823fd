import { createInterface } from 'node:readline/promises';
import { type CrmClient, CrmError, createClient, type Retry } from '../../client/src/index.ts';
import type { Output } from './progress.ts';

/** What every command works with. */
export type Context = {
  crm: CrmClient;
  /** Told the milliseconds whenever the key's limit makes a request wait. */
  onLimit: { tell: (milliseconds: number) => void };
  output: NodeJS.WriteStream;
  errors: Output;
  input: NodeJS.ReadStream;
  /** Ends the work softly: what is under way is finished. */
  stop: AbortSignal;
  /** Ends what is under way, too. */
  cancel: AbortSignal;
};

/** Something to say without a stack: the command cannot go on. */
export class CommandError extends Error {
  readonly exitCode: number;
  constructor(message: string, exitCode = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** Milliseconds. Waiting for the key's limit may take its time. */
const MAX_RETRY_TIME = 3_600_000;

export function connect(
  options: { url: string; key: string; retries: number },
  signals: Pick<Context, 'stop' | 'cancel'>,
): Context {
  const onLimit: Context['onLimit'] = { tell: () => undefined };
  const settings = {
    apiKey: options.key,
    baseUrl: options.url,
    retries: options.retries,
    maxRetryTime: MAX_RETRY_TIME,
    onRetry: ({ error, wait }: Retry) => {
      if (error.status === 429) onLimit.tell(wait);
    },
  };
  let crm: CrmClient;
  try {
    crm = createClient(settings);
  } catch (error) {
    throw new CommandError((error as Error).message);
  }
  return { crm, onLimit, output: process.stdout, errors: process.stderr, input: process.stdin, ...signals };
}

/** Asks on a terminal; elsewhere nobody can answer, and the default holds. */
export async function confirm(context: Context, question: string, preset: boolean): Promise<boolean> {
  const { input, errors, stop } = context;
  if (!input.isTTY || !errors.isTTY) return preset;
  const reader = createInterface({ input, output: errors });
  // The reader takes Ctrl-C for itself.
  reader.on('SIGINT', () => process.kill(process.pid, 'SIGINT'));
  const options = preset ? '[Y/n]' : '[y/N]';
  const answer = await reader.question(`${question} ${options} `, { signal: stop }).catch(() => {
    throw stop.reason;
  });
  reader.close();
  return answer.trim() === '' ? preset : /^(y|s)/i.test(answer.trim());
}

/** Whether the service refused what was sent, and would refuse it again; other failures end the run. */
export const isRefusal = (error: unknown): error is CrmError =>
  error instanceof CrmError && [400, 409, 413].includes(error.status) && !error.is('IDEMPOTENCY_IN_PROGRESS');
