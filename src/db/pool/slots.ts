import { setTimeout as pause } from 'node:timers/promises';
import { Rejection } from '../../contract/errors.ts';

export type Kind = 'read' | 'write';

type State = 'running' | 'held';
type Owner = Record<State, number> & { id: string; waiting: Record<Kind, number> };
type Task = { owner: Owner; kind: Kind; start: () => void };

/** `hold` frees the connection, and counts the large result until the task leaves. After `leave`, both do nothing. */
export type Slot = { hold: () => void; leave: () => void };

/** Clients that retry immediately would keep the process busy, and come back all at once: 60 to 180 ms. */
const rejectionDelay = (): number => 60 + 120 * Math.random();

/**
 * One slot for each connection, and a short queue. An organization may take as many as are free (dynamic thresholds, A. Choudhury
 * and E. Hahne, 1998): alone it gets half, and whoever comes next always finds one. While its writes wait for a locked row, its
 * reads go on: writes leave them two slots, or an eighth. As many results again may be held: four organizations that read theirs
 * slowly leave a fifth its slot.
 */
export function createSlots({ slots, places }: { slots: number; places: number }) {
  const owners = new Map<string, Owner>();
  const queue: Task[] = [];
  const total = { running: 0, held: 0 };

  function mayTake(own: number, free: number, all: number, kind: Kind): boolean {
    const left = kind === 'write' ? Math.max(2, all / 8) : 0;
    return free > 0 && (own === 0 || own + left < free);
  }

  const hasSlot = ({ running, held }: Owner, kind: Kind): boolean =>
    mayTake(running, slots - total.running, slots, kind) &&
    mayTake(running + held, 2 * slots - total.running - total.held, 2 * slots, 'read');
  const hasPlace = ({ waiting: { read, write } }: Owner, kind: Kind): boolean =>
    mayTake(read + write, places - queue.length, places, kind);

  function count(owner: Owner, state: State, change: 1 | -1): void {
    owner[state] += change;
    total[state] += change;
  }

  function startNext(): void {
    for (;;) {
      const index = queue.findIndex(({ owner, kind }) => hasSlot(owner, kind));
      const [task] = index < 0 ? [] : queue.splice(index, 1);
      if (!task) return;
      task.owner.waiting[task.kind] -= 1;
      count(task.owner, 'running', 1);
      task.start();
    }
  }

  return {
    /** @throws Rejection if the queue is full */
    async enter(id: string, kind: Kind): Promise<Slot> {
      const owner = owners.get(id) ?? { id, running: 0, held: 0, waiting: { read: 0, write: 0 } };
      if (owner.waiting[kind] === 0 && hasSlot(owner, kind)) count(owner, 'running', 1);
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
      let state: State | undefined = 'running';
      function change(next?: State): void {
        if (!state) return;
        count(owner, state, -1);
        if (next) count(owner, next, 1);
        state = next;
        startNext();
        if (owner.running + owner.held + owner.waiting.read + owner.waiting.write === 0) owners.delete(id);
      }
      return { hold: () => change('held'), leave: () => change() };
    },
    stats: () => ({ ...total, waiting: queue.length }),
  };
}
