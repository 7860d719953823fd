import { setTimeout as pause } from 'node:timers/promises';
import { Rejection } from '../../contract/errors.ts';

export type Kind = 'read' | 'write';

type Owner = { id: string; running: number; waiting: Record<Kind, number> };
type Task = { owner: Owner; kind: Kind; start: () => void };

/** Clients that retry immediately would keep the process busy, and come back all at once: 60 to 180 ms. */
const rejectionDelay = (): number => 60 + 120 * Math.random();

/**
 * One slot for each connection, and a short queue. An organization may take as many as are free (dynamic thresholds, A. Choudhury
 * and E. Hahne, 1998): alone it gets half, and whoever comes next always finds one. While its writes wait for a locked row, its
 * reads go on: writes leave them two slots, or an eighth.
 */
export function createSlots({ slots, places }: { slots: number; places: number }) {
  const owners = new Map<string, Owner>();
  const queue: Task[] = [];
  let running = 0;

  function mayTake(own: number, free: number, total: number, kind: Kind): boolean {
    const left = kind === 'write' ? Math.max(2, total / 8) : 0;
    return free > 0 && (own === 0 || own + left < free);
  }

  const hasSlot = ({ running: own }: Owner, kind: Kind): boolean =>
    mayTake(own, slots - running, slots, kind);
  const hasPlace = ({ waiting: { read, write } }: Owner, kind: Kind): boolean =>
    mayTake(read + write, places - queue.length, places, kind);

  function take(owner: Owner): void {
    owner.running += 1;
    running += 1;
  }

  function leave(owner: Owner): void {
    owner.running -= 1;
    running -= 1;
    for (;;) {
      const index = queue.findIndex(({ owner, kind }) => hasSlot(owner, kind));
      const [task] = index < 0 ? [] : queue.splice(index, 1);
      if (!task) break;
      task.owner.waiting[task.kind] -= 1;
      take(task.owner);
      task.start();
    }
    if (owner.running + owner.waiting.read + owner.waiting.write === 0) owners.delete(owner.id);
  }

  return {
    /**
     * @returns leaves the slot; a second call does nothing
     * @throws Rejection if the queue is full
     */
    async enter(id: string, kind: Kind): Promise<() => void> {
      const owner = owners.get(id) ?? { id, running: 0, waiting: { read: 0, write: 0 } };
      if (owner.waiting[kind] === 0 && hasSlot(owner, kind)) take(owner);
      else {
        if (!hasPlace(owner, kind)) {
          await pause(rejectionDelay());
          throw new Rejection('full');
        }
        owner.waiting[kind] += 1;
        owners.set(id, owner);
        await new Promise<void>((start) => queue.push({ owner, kind, start }));
      }
      owners.set(id, owner);
      let hasLeft = false;
      return () => {
        if (!hasLeft) leave(owner);
        hasLeft = true;
      };
    },
    stats: () => ({ running, waiting: queue.length }),
  };
}
