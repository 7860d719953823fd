import { expect, test } from 'vitest';
import { atEndOfTick } from '../../src/wire/tick.ts';

test('tasks run after everything else of their tick, in the order given, with nothing between them', async () => {
  const ran: string[] = [];
  const note = (what: string) => () => ran.push(what);
  await new Promise<void>((done) => {
    atEndOfTick(() => {
      ran.push('first');
      Promise.resolve().then(note('promise of the first'));
      atEndOfTick(() => {
        ran.push('next tick');
        done();
      });
    });
    atEndOfTick(note('second'));
    process.nextTick(note('tick'));
    Promise.resolve().then(note('promise'));
  });
  expect(ran).toEqual(['promise', 'tick', 'first', 'second', 'promise of the first', 'next tick']);
});
