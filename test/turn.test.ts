import { expect, test } from 'vitest';
import { atEndOfTurn } from '../src/turn.ts';

test('tasks run after everything else of their turn, in the order given, with nothing between them', async () => {
  const ran: string[] = [];
  const note = (what: string) => () => ran.push(what);
  await new Promise<void>((done) => {
    atEndOfTurn(() => {
      ran.push('first');
      Promise.resolve().then(note('promise of the first'));
      atEndOfTurn(() => {
        ran.push('next turn');
        done();
      });
    });
    atEndOfTurn(note('second'));
    process.nextTick(note('tick'));
    Promise.resolve().then(note('promise'));
  });
  expect(ran).toEqual(['promise', 'tick', 'first', 'second', 'promise of the first', 'next turn']);
});
