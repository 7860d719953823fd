import { onTestFailed } from 'vitest';
import { createLogger } from '../../src/http/logging.ts';

type Line = {
  requestId?: string;
  err?: { type: string; message: string; stack?: string; cause?: Line['err'] };
};

const told = (err: Line['err']): string =>
  err
    ? `${err.type}: ${err.message}\n${err.stack ?? ''}${err.cause ? `\nbecause of ${told(err.cause)}` : ''}`
    : '';

/** The log of a service under test. What it says of a fault is shown when the test fails that was answered with the fault. */
export function keepCauses() {
  const causes = new Map<string, string>();
  const logger = createLogger('error', {
    write: (text) => {
      const { requestId = '', err } = JSON.parse(text) as Line;
      causes.set(requestId, told(err));
    },
  });
  /** Call it with every answer. */
  const watch = (operation: string, status: number, headers: Record<string, unknown>): void => {
    const id = String(headers['x-request-id']);
    const cause = causes.get(id);
    causes.delete(id);
    if (status < 500 || cause === undefined) return;
    const show = () => console.error(`${operation} answered ${status}, because of ${cause}`);
    try {
      onTestFailed(show);
    } catch {
      // Before the first test there is nothing that could fail but the whole file.
      show();
    }
  };
  return { logger, watch };
}
