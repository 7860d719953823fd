import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createSlots, type Kind, type Slot } from '../../src/db/pool/slots.ts';

/** Enters tasks that end when the test says so. */
function slotsOf(options: { slots: number; places: number }) {
  const slots = createSlots(options);
  const started: string[] = [];
  const entered = new Map<string, Slot>();
  return {
    ...slots,
    started,
    enter: async (owner: string, count: number, kind: Kind = 'read') => {
      for (let n = 1; n <= count; n += 1) {
        const name = `${owner}${n} ${kind}`;
        slots.enter(owner, kind).then(
          (slot) => {
            started.push(name);
            entered.set(name, slot);
          },
          () => undefined,
        );
      }
      await nextTurn();
    },
    end: async (name: string) => {
      entered.get(name)?.leave();
      entered.get(name)?.leave();
      await nextTurn();
    },
    hold: (name: string) => entered.get(name)?.hold(),
  };
}

test('a slot that is left goes to the task that waited longest and whose organization may have it', async () => {
  const { enter, end, started, stats } = slotsOf({ slots: 4, places: 16 });
  await enter('a', 4);
  await enter('b', 2);
  await enter('c', 2);
  expect(started).toEqual(['a1 read', 'a2 read', 'b1 read', 'c1 read']);
  const order = ['a1 read', 'b1 read', 'a2 read', 'c1 read', 'a3 read', 'a4 read', 'b2 read', 'c2 read'];
  for (const name of order) await end(name);
  expect(started.slice(4)).toEqual(['a3 read', 'b2 read', 'a4 read', 'c2 read']);
  expect(stats()).toMatchObject({ running: 0, waiting: 0 });
});

test('while all writes of an organization hang, its reads find a slot and a place', async () => {
  const { enter, end, started, stats } = slotsOf({ slots: 8, places: 32 });
  await enter('a', 40, 'write');
  expect(stats()).toMatchObject({ running: 3, waiting: 14 });
  await enter('a', 3);
  expect(started.slice(3)).toEqual(['a1 read']);
  expect(stats()).toMatchObject({ running: 4, waiting: 16 });
  await end('a1 read');
  expect(started.slice(4)).toEqual(['a2 read']);
});

test.each([1, 2])('with %i slots, everything gets one in the end', async (slots) => {
  const { enter, end, started } = slotsOf({ slots, places: 8 });
  await enter('a', 1);
  await enter('a', 1, 'write');
  await enter('b', 1);
  await enter('b', 1, 'write');
  for (let n = 0; n < 4; n += 1) await end(started[n] ?? '');
  expect(started).toHaveLength(4);
});

test('however many results four organizations hold, a fifth finds a slot', async () => {
  const { enter, hold, started, stats } = slotsOf({ slots: 8, places: 32 });
  for (const owner of ['a', 'b', 'c', 'd']) await enter(owner, 12);
  for (let n = 0; n < started.length; n += 1) {
    hold(started[n] ?? '');
    await nextTurn();
  }
  expect(stats().running).toBe(0);
  await enter('e', 1);
  expect(started.at(-1)).toBe('e1 read');
});
