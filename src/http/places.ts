/** A few places that many owners share: each owner has some of them at most, and waits in a line of its own. */

export type PlacesOptions = {
  /** Places in all. */
  all: number;
  /** Places of one owner. */
  each: number;
  /** The length of an owner's line. */
  line: number;
  /** The longest wait, in milliseconds. */
  patience: number;
};

export type Places = {
  /**
   * Calls `enter` with true when there is a place, at once or later; with false when the owner's line is full or the wait
   * was too long. The function that it returns gives the place back, or leaves the line; a second call does nothing.
   */
  take: (owner: string, enter: (hasPlace: boolean) => void) => () => void;
};

type Waiting = { admit: () => void };

/** Lines are served in turn, one of each owner (round robin). */
export function createPlaces({ all, each, line: longest, patience }: PlacesOptions): Places {
  let taken = 0;
  const takenBy = new Map<string, number>();
  /** In the order of their turns: the owner that was served last stands last. */
  const lines = new Map<string, Set<Waiting>>();

  const hasPlace = (owner: string): boolean => taken < all && (takenBy.get(owner) ?? 0) < each;

  function change(owner: string, by: 1 | -1): void {
    taken += by;
    const left = (takenBy.get(owner) ?? 0) + by;
    if (left === 0) takenBy.delete(owner);
    else takenBy.set(owner, left);
  }

  function drop(owner: string, waiting: Waiting): void {
    const line = lines.get(owner);
    line?.delete(waiting);
    if (line?.size === 0) lines.delete(owner);
  }

  function serve(): void {
    for (const [owner, line] of lines) {
      if (taken >= all) return;
      const [first] = line;
      if (!first || !hasPlace(owner)) continue;
      lines.delete(owner);
      line.delete(first);
      if (line.size > 0) lines.set(owner, line);
      first.admit();
    }
  }

  return {
    take(owner, enter) {
      let giveBack: () => void = () => undefined;
      const admit = (): void => {
        change(owner, 1);
        giveBack = () => {
          change(owner, -1);
          serve();
        };
        enter(true);
      };
      const leave = (): void => {
        const last = giveBack;
        giveBack = () => undefined;
        last();
      };
      if (hasPlace(owner)) admit();
      else {
        const line = lines.get(owner) ?? new Set<Waiting>();
        if (line.size >= longest) {
          enter(false);
          return leave;
        }
        const waiting: Waiting = {
          admit: () => {
            clearTimeout(timer);
            admit();
          },
        };
        const timer = setTimeout(() => {
          drop(owner, waiting);
          enter(false);
        }, patience);
        lines.set(owner, line.add(waiting));
        giveBack = () => {
          clearTimeout(timer);
          drop(owner, waiting);
        };
      }
      return leave;
    },
  };
}
