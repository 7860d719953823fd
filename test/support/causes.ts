import { onTestFailed } from 'vitest';
import { createLogger } from '../../src/http/logging.ts';

type LoggedError = { type: string; message: string; stack?: string; cause?: LoggedError };

const describe = ({ type, message, stack = '', cause }: LoggedError): string =>
  `${type}: ${message}\n${stack}${cause ? `\ncaused by ${describe(cause)}` : ''}`;

/** The log of a service under test. When a test fails, it prints the logged errors of the test's 5xx responses. */
export function keepCauses() {
  const causes = new Map<string, string>();
  const logger = createLogger('error', {
    write: (text) => {
      const { requestId = '', err } = JSON.parse(text) as { requestId?: string; err?: LoggedError };
      causes.set(requestId, err ? describe(err) : '');
    },
  });
  /** Call it with every response. */
  const watch = (operation: string, status: number, headers: Record<string, unknown>): void => {
    const id = String(headers['x-request-id']);
    const cause = causes.get(id);
    causes.delete(id);
    if (status < 500 || cause === undefined) return;
    const print = () => console.error(`${operation} returned ${status}, caused by ${cause}`);
    try {
      onTestFailed(print);
    } catch {
      // Outside of a test, in `beforeAll`, nothing can be registered.
      print();
    }
  };
  return { logger, watch };
}
