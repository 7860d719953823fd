import { setTimeout as pause } from 'node:timers/promises';
import { Rejection } from '../../contract/errors.ts';

export type Kind = 'read' | 'write';

type Owner = { id: string; running: Record<Kind, number>; waiting: Record<Kind, number> };
type Task = { owner: Owner; kind: Kind; start: () => void };

/** Clients that retry immediately would keep the process busy, and come back all at once: 60 to 180 ms. */
const rejectionDelay = (): number => 60 + 120 * Math.random();

/**
 * One slot for each connection, and a short queue. An organization may take as many as are free (dynamic thresholds, A. Choudhury
 * and E. Hahne, 1998): alone it gets half, and whoever comes next always finds one. Its reads leave half of the slots, because some
 * searches keep a core of PostgreSQL busy. While its writes wait for a locked row, its reads go on: writes leave them two slots, or
 * an eighth.
 */
export function createSlots({ slots, places }: { slots: number; places: number }) {
  const owners = new Map<string, Owner>();
  const queue: Task[] = [];
  let running = 0;

  const mayTake = (own: number, left: number, free: number): boolean =>
    free > 0 && (own === 0 || own + left < free);

  function hasSlot({ running: { read, write } }: Owner, kind: Kind): boolean {
    const free = slots - running;
    return kind === 'read'
      ? mayTake(read, slots / 2, free)
      : mayTake(read + write, Math.max(2, slots / 8), free);
  }

  const hasPlace = ({ waiting: { read, write } }: Owner, kind: Kind): boolean =>
    mayTake(read + write, kind === 'write' ? Math.max(2, places / 8) : 0, places - queue.length);

  function take(owner: Owner, kind: Kind): void {
    owner.running[kind] += 1;
    running += 1;
  }

  function leave(owner: Owner, kind: Kind): void {
    owner.running[kind] -= 1;
    running -= 1;
    for (;;) {
      const index = queue.findIndex(({ owner, kind }) => hasSlot(owner, kind));
      const [task] = index < 0 ? [] : queue.splice(index, 1);
      if (!task) break;
      task.owner.waiting[task.kind] -= 1;
      take(task.owner, task.kind);
      task.start();
    }
    const { running: now, waiting } = owner;
    if (now.read + now.write + waiting.read + waiting.write === 0) owners.delete(owner.id);
  }

  return {
    /**
     * @returns leaves the slot
     * @throws Rejection if the queue is full
     */
    async enter(id: string, kind: Kind): Promise<() => void> {
      const owner = owners.get(id) ?? { id, running: { read: 0, write: 0 }, waiting: { read: 0, write: 0 } };
      if (owner.waiting[kind] === 0 && hasSlot(owner, kind)) take(owner, kind);
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
      return () => leave(owner, kind);
    },
    stats: () => ({ running, waiting: queue.length }),
  };
}
