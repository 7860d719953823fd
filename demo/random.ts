import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';

/** Chance, ids and dates of the demo: of one record whatever the others are. Only dates differ from one load to another. */

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** The hour of the load. Every date is counted back or forth from here, so that "this week" is never empty. */
const NOW = Math.floor(Date.now() / HOUR_MS) * HOUR_MS;

/** What stands for that hour in ids: they are the same at every load, and documents name them. */
const NOW_OF_IDS = Date.parse('2026-11-01T15:00:00Z');

export type Random = {
  /** A whole number, both ends included. */
  int: (from: number, to: number) => number;
  pick: <Item>(items: readonly Item[]) => Item;
  chance: (probability: number) => boolean;
};

/** Numbers that depend on the seed alone (mulberry32). */
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

/** The item at the index, counted round and round. */
export function at<Item>(items: readonly Item[], index: number): Item {
  const item = items[index % items.length];
  if (item === undefined) throw new Error('An empty list has no items.');
  return item;
}

/** A moment that many days before the load; negative ones lie ahead. */
export const daysAgo = (days: number): Date => new Date(NOW - days * DAY_MS);

export const plusMinutes = (moment: Date, minutes: number): Date =>
  new Date(moment.getTime() + minutes * 60_000);

export const plusDays = (moment: Date, days: number): Date => new Date(moment.getTime() + days * DAY_MS);

export const daysBetween = (earlier: Date, later: Date): number =>
  (later.getTime() - earlier.getTime()) / DAY_MS;

export const calendarDate = (moment: Date): string => moment.toISOString().slice(0, 10);

/** A UUIDv7 whose time is the moment, on the calendar of the ids, and whose other bits come from the name. */
export function idOf(name: string, moment: Date): string {
  const time = (moment.getTime() - NOW + NOW_OF_IDS).toString(16).padStart(12, '0');
  const bits = hash('sha256', name);
  const variant = '89ab'.charAt(Number.parseInt(bits.charAt(3), 16) % 4);
  return `${time.slice(0, 8)}-${time.slice(8)}-7${bits.slice(0, 3)}-${variant}${bits.slice(4, 7)}-${bits.slice(8, 20)}`;
}

/** When a record was last changed: so many days at most after these moments, before the load, and at no other record's moment. */
export function changedAfter(name: string, days: number, ...moments: Date[]): Date {
  const latest = Math.max(...moments.map((moment) => moment.getTime()));
  const room = Math.max(0, Math.min(days * DAY_MS, NOW - latest));
  return new Date(latest + randomOf(`change of ${name}`).int(0, room));
}

/** The rows of a table written as text: a line each, its cells between bars. */
export const rowsOf = (text: string): string[][] =>
  text
    .trim()
    .split('\n')
    .map((line) => line.split('|').map((cell) => cell.trim()));

/** `a, b, c` as its parts. */
export const listOf = (text: string): string[] => text.split(', ').filter((part) => part !== '');
