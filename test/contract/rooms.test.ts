import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

/** Folders of src/ stand on each other: no circle of imports between them, types included. */

const src = fileURLToPath(new URL('../../src', import.meta.url));
const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));

/** src/ itself has a room for each of its files. */
const roomOf = (file: string): string => (dirname(file) === '.' ? file : dirname(file));
const importsOf = (file: string): string[] =>
  [...readFileSync(join(src, file), 'utf8').matchAll(/from '(\.[^']+)'/g)].map(([, path = '']) =>
    join(dirname(file), path),
  );

const rooms = new Map<string, Set<string>>();
for (const file of files) {
  const entered = rooms.get(roomOf(file)) ?? new Set();
  rooms.set(roomOf(file), entered);
  for (const imported of importsOf(file))
    if (roomOf(imported) !== roomOf(file)) entered.add(roomOf(imported));
}

/** The rooms that a room stands on, directly or not. */
function below(room: string, found = new Set<string>()): Set<string> {
  for (const next of rooms.get(room) ?? []) if (!found.has(next)) below(next, found.add(next));
  return found;
}

test('no room of src/ stands on itself', () => {
  expect(rooms.size).toBeGreaterThan(15);
  expect([...rooms.keys()].filter((room) => below(room).has(room))).toEqual([]);
});
