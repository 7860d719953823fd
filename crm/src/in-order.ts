/** Works on several items at once and settles them one by one in their order. */
export type InOrderOptions<Item, Outcome> = {
  work: (item: Item) => Promise<Outcome>;
  /** Told each outcome, in the order of the items. */
  settle: (item: Item, outcome: Outcome) => void | Promise<void>;
  concurrency: number;
  /** How many items may wait for a slow one before them. */
  window?: number;
  /** Stops taking items; those under way are finished. */
  signal?: AbortSignal;
};

/** @throws the first failure of `work`, when all that precedes it is settled; nothing behind it is settled */
export async function inOrder<Item, Outcome>(
  items: AsyncIterable<Item>,
  { work, settle, concurrency, window = concurrency * 16, signal }: InOrderOptions<Item, Outcome>,
): Promise<void> {
  type Entry = { item: Item; outcome?: Outcome; done: Promise<void> };
  const queue: Entry[] = [];
  const running = new Set<Promise<void>>();
  let failure: { error: unknown } | undefined;

  const flush = async (): Promise<void> => {
    for (let first = queue[0]; first && 'outcome' in first; first = queue[0]) {
      queue.shift();
      await settle(first.item, first.outcome as Outcome);
    }
  };
  for await (const item of items) {
    if (signal?.aborted || failure) break;
    const entry: Entry = { item, done: Promise.resolve() };
    entry.done = work(item).then(
      (outcome) => {
        entry.outcome = outcome;
      },
      (error: unknown) => {
        failure ??= { error };
      },
    );
    running.add(entry.done);
    void entry.done.then(() => running.delete(entry.done));
    queue.push(entry);
    await flush();
    while (!failure && running.size >= concurrency) {
      await Promise.race(running);
      await flush();
    }
    while (!failure && queue.length >= window) {
      await queue[0]?.done;
      await flush();
    }
  }
  await Promise.all(running);
  await flush();
  if (failure) throw failure.error;
}
