import { pMapIterable } from 'p-map';

type Options<Item, Outcome> = {
  work: (item: Item) => Promise<Outcome>;
  /** Called with each outcome, in the order of the items. */
  settle: (item: Item, outcome: Outcome) => void | Promise<void>;
  concurrency: number;
  /** How many items may wait for a slow one before them, at least `concurrency`. */
  window?: number;
  /** Takes no further items. */
  signal?: AbortSignal;
};

/**
 * Works on several items at once and settles them one by one in their order.
 * @throws the first failure of `work`, when all before it is settled and nothing is under way; nothing after it is settled
 */
export async function inOrder<Item, Outcome>(
  items: AsyncIterable<Item>,
  { work, settle, concurrency, window = concurrency * 16, signal }: Options<Item, Outcome>,
): Promise<void> {
  const running = new Set<Promise<Outcome>>();
  let hasFailed = false;
  async function* taken(): AsyncGenerator<Item> {
    for await (const item of items) {
      if (signal?.aborted || hasFailed) return;
      yield item;
    }
  }
  async function start(item: Item) {
    const outcome = work(item);
    running.add(outcome);
    outcome.catch(() => {
      hasFailed = true;
    });
    return { item, outcome: await outcome.finally(() => running.delete(outcome)) };
  }
  try {
    const options = { concurrency, backpressure: window };
    for await (const { item, outcome } of pMapIterable(taken(), start, options)) await settle(item, outcome);
  } finally {
    await Promise.allSettled(running);
  }
}
