import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createPlaces } from '../../src/http/places.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Takes places under names, and says in which order they were had or refused. */
function taker(options: Partial<Parameters<typeof createPlaces>[0]> = {}) {
  const places = createPlaces({ all: 3, each: 2, line: 3, patience: 1_000, ...options });
  const told: string[] = [];
  const leave = new Map<string, () => void>();
  const take = (...names: string[]): void => {
    for (const name of names) {
      const owner = name.slice(0, 1);
      leave.set(
        name,
        places.take(owner, (hasPlace) => told.push(hasPlace ? name : `no ${name}`)),
      );
    }
  };
  const leaves = (...names: string[]): void => {
    for (const name of names) leave.get(name)?.();
  };
  return { told, take, leaves };
}

test('an owner has its share at most, and all of them together no more than there are', () => {
  const { told, take } = taker();
  take('a1', 'a2', 'a3', 'b1', 'b2', 'c1');
  expect(told).toEqual(['a1', 'a2', 'b1']);
});

test('those who wait are served in turn, one of each owner, and each owner in its order', () => {
  const { told, take, leaves } = taker({ all: 1, each: 1 });
  take('a1', 'a2', 'a3', 'b1', 'b2', 'c1');
  for (const name of ['a1', 'a2', 'b1', 'c1', 'a3', 'b2']) leaves(name);
  expect(told).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2']);
});

test('an owner that has its share does not hold up those behind it', () => {
  const { told, take, leaves } = taker();
  take('a1', 'a2', 'a3', 'b1', 'b2', 'c1');
  leaves('b1');
  expect(told).toEqual(['a1', 'a2', 'b1', 'b2']);
  leaves('a1');
  expect(told.slice(4)).toEqual(['a3']);
  leaves('a2');
  expect(told.slice(5)).toEqual(['c1']);
});

test('a full line refuses at once, a long wait refuses in the end, and neither takes a place', () => {
  const { told, take, leaves } = taker({ all: 1 });
  take('a1', 'a2', 'a3', 'a4', 'a5');
  expect(told).toEqual(['a1', 'no a5']);
  vi.advanceTimersByTime(999);
  expect(told).toHaveLength(2);
  vi.advanceTimersByTime(1);
  expect(told.slice(2)).toEqual(['no a2', 'no a3', 'no a4']);
  leaves('a5', 'a4', 'a3', 'a2');
  take('b1');
  expect(told).toHaveLength(5);
  leaves('a1');
  expect(told.slice(5)).toEqual(['b1']);
});

test('who leaves twice, or while waiting, gives back what was had and no more', () => {
  const { told, take, leaves } = taker({ all: 1 });
  take('a1', 'a2', 'b1');
  leaves('a2', 'a2', 'a1', 'a1');
  take('c1');
  expect(told).toEqual(['a1', 'b1']);
  leaves('b1');
  expect(told).toEqual(['a1', 'b1', 'c1']);
  vi.advanceTimersByTime(5_000);
  expect(told).toHaveLength(3);
});
