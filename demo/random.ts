import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';

/**
 * Random values, ids and dates of the demo. Each record has its own seed, so that changing one leaves the others as they are.
 * Only dates differ between loads.
 */

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** The hour of the load. Every date is relative to it, so that "this week" is never empty. */
const NOW = Math.floor(Date.now() / HOUR_MS) * HOUR_MS;

/** Stands for that hour in ids, which are the same at every load, because documents name them. */
const NOW_OF_IDS = Date.parse('2026-11-01T15:00:00Z');

export type Random = {
  /** An integer, both ends included. */
  int: (from: number, to: number) => number;
  pick: <Item>(items: readonly Item[]) => Item;
  chance: (probability: number) => boolean;
};

/** A seeded generator (mulberry32). */
export function randomOf(seed: string): Random {
  let state = crc32(seed);
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    int: (from, to) => from + Math.floor(next() * (to - from + 1)),
    pick: (items) => at(items, Math.floor(next() * items.length)),
    chance: (probability) => next() < probability,
  };
}

/** The item at the index, modulo the length. */
export function at<Item>(items: readonly Item[], index: number): Item {
  const item = items[index % items.length];
  if (item === undefined) throw new Error('An empty list has no items.');
  return item;
}

/** A timestamp this many days before the load; a negative number is in the future. */
export const daysAgo = (days: number): Date => new Date(NOW - days * DAY_MS);

export const plusMinutes = (timestamp: Date, minutes: number): Date =>
  new Date(timestamp.getTime() + minutes * 60_000);

export const plusDays = (timestamp: Date, days: number): Date =>
  new Date(timestamp.getTime() + days * DAY_MS);

export const daysBetween = (earlier: Date, later: Date): number =>
  (later.getTime() - earlier.getTime()) / DAY_MS;

export const calendarDate = (timestamp: Date): string => timestamp.toISOString().slice(0, 10);

/** A UUIDv7 with this timestamp, relative to the fixed hour of ids; its other bits depend on the name. */
export function idOf(name: string, timestamp: Date): string {
  const time = (timestamp.getTime() - NOW + NOW_OF_IDS).toString(16).padStart(12, '0');
  const bits = hash('sha256', name);
  const variant = '89ab'.charAt(Number.parseInt(bits.charAt(3), 16) % 4);
  return `${time.slice(0, 8)}-${time.slice(8)}-7${bits.slice(0, 3)}-${variant}${bits.slice(4, 7)}-${bits.slice(8, 20)}`;
}

/** When a record was last changed: at most this many days after these timestamps, and unique among records. */
export function changedAfter(name: string, days: number, ...timestamps: Date[]): Date {
  const latest = Math.max(...timestamps.map((timestamp) => timestamp.getTime()));
  const room = Math.max(0, Math.min(days * DAY_MS, NOW - latest));
  return new Date(latest + randomOf(`change of ${name}`).int(0, room));
}

/** The rows of a text table: one line each, with cells between bars. */
export const rowsOf = (text: string): string[][] =>
  text
    .trim()
    .split('\n')
    .map((line) => line.split('|').map((cell) => cell.trim()));

/** The parts of `a, b, c`. */
export const listOf = (text: string): string[] => text.split(', ').filter((part) => part !== '');
