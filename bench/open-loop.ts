import { type Bench, httpText, requestsOfOurs } from './measure.ts';
import { inProcess, type Outcome, outcomeOf } from './traffic.ts';
import type { Workload } from './workloads.ts';

/** Requests that begin at intended times, so many a second, whatever the answers do. */

export type Offered = Outcome & {
  name: string;
  /** Requests per second: begun, and answered from the first beginning to the last answer. */
  offered: number;
  answered: { accepted: number; refused: number };
};

const WARM_UP_SECONDS = 1;

export async function measureOffered(bench: Bench, workload: Workload, rate: number): Promise<Offered> {
  const { name } = workload;
  const key = bench.key(workload.organization('ours'));
  const offer = async (seconds: number) => {
    const requests = await requestsOfOurs(bench, workload, Math.ceil(rate * seconds));
    const texts = requests.map((request) => httpText(request, key));
    return inProcess({ kind: 'open', port: bench.ours.port, requests: texts, rate, seconds }).seen;
  };
  await offer(Math.min(WARM_UP_SECONDS, bench.seconds));
  const seen = await offer(bench.seconds);
  const outcome = outcomeOf(seen);
  const perSecond = ({ statuses }: Outcome['accepted']): number =>
    Object.values(statuses).reduce((total, count) => total + count, 0) / seen.seconds;
  return {
    name,
    offered: rate,
    answered: { accepted: perSecond(outcome.accepted), refused: perSecond(outcome.refused) },
    ...outcome,
  };
}
