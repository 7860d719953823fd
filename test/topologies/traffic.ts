import { setTimeout as pause } from 'node:timers/promises';
import { clientOf } from './instance.ts';
import { openLedger, writeUntil } from './ledger.ts';

/** Clients that write until `stop` is called. */
export function startTraffic(port: number, key: string, clients: number) {
  const stop = new AbortController();
  const ledger = openLedger();
  const send = clientOf(port, { 'x-api-key': key });
  const writing = Array.from({ length: clients }, () => writeUntil(stop.signal, send, ledger));
  return {
    ledger,
    requests: () => [...ledger.statuses.values()].reduce((sum, count) => sum + count, 0),
    /** Resolves after so many more acknowledged writes: the service works again. */
    progress: async (writes: number) => {
      const goal = ledger.acknowledged + writes;
      while (ledger.acknowledged < goal) await pause(10);
    },
    stop: async () => {
      stop.abort();
      await Promise.all(writing);
    },
  };
}
