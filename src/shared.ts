/** Simultaneous calls share one promise; after an error the next call builds again. */
export function shared<Value>(build: () => Promise<Value>): () => Promise<Value> {
  let pending: Promise<Value> | undefined;
  return () => {
    pending ??= build().catch((error) => {
      pending = undefined;
      throw error;
    });
    return pending;
  };
}
