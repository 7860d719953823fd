import { describe, expect, test } from 'vitest';
import { examplesOf, runExample } from '../support/examples.ts';

const ID = '01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17';
const OTHER = '018438db-3180-7fd0-aa68-9f1147b3735d';

/** Runs a document whose examples print what `prints` says, whatever it shows. */
async function run(...blocks: { shows: string; info?: string; prints: string }[]): Promise<string[]> {
  const text = blocks
    .map(
      ({ shows, info = 'json answer', prints }) =>
        `\`\`\`sh example\ncat <<'END'\n${prints}\nEND\n\`\`\`\n\n\`\`\`${info}\n${shows}\n\`\`\`\n`,
    )
    .join('\n');
  const learned = new Map<string, string>();
  for (const example of examplesOf(text)) await runExample(example, '', {}, learned);
  return [...learned.values()];
}

describe('an example of a document', () => {
  test('holds when it prints what is shown, and not when a value, a field or an entry differs', async () => {
    await run({ shows: '{ "a": [1, { "b": null }] }', prints: '{"a":[1,{"b":null}]}' });
    for (const prints of ['{"a":[2,{"b":null}]}', '{"a":[1,{}]}', '{"a":[1,{"b":null}],"c":1}', '{"a":[1]}'])
      await expect(run({ shows: '{ "a": [1, { "b": null }] }', prints }), prints).rejects.toThrow();
  });

  test('may leave out fields where it says so, and only there', async () => {
    const shows = '{\n  "a": { "b": 1 },\n  // …\n}';
    await run({ shows, prints: '{"a":{"b":1},"c":2}' });
    await expect(run({ shows, prints: '{"a":{"b":1,"c":2}}' })).rejects.toThrow();
    await expect(run({ shows, prints: '{"c":2}' })).rejects.toThrow();
  });

  test('may differ in the fields that it names, within their form', async () => {
    const info = 'json answer varies=id';
    await run({ info, shows: `{ "id": "${ID}" }`, prints: `{"id":"${OTHER}"}` });
    for (const prints of ['{"id":"7"}', '{"id":null}', '{"id":7}', '{}', `{"id":"${OTHER}","other":1}`])
      await expect(run({ info, shows: `{ "id": "${ID}" }`, prints }), prints).rejects.toThrow();
    const shows = `{ "other": "${ID}" }`;
    await expect(run({ info, shows, prints: `{"other":"${OTHER}"}` })).rejects.toThrow();
  });

  test('uses what an earlier answer gave, and gives the same again', async () => {
    const info = 'json answer varies=id';
    const first = { info, shows: `{ "id": "${ID}" }`, prints: `{"id":"${OTHER}"}` };
    expect(await run(first, { ...first, prints: `{"id":"${ID}"}` })).toEqual([OTHER]);
    const third = OTHER.replace('0184', '0185');
    await expect(run(first, { ...first, prints: `{"id":"${third}"}` })).rejects.toThrow();
  });

  test('shows the status and some of the headers', async () => {
    const info = 'http answer varies=age';
    const prints = 'HTTP/1.1 200 OK\nETag: "a"\nAge: 3\nDate: now\n\n{"a":1}';
    await run({ info, shows: 'HTTP/1.1 200 OK\netag: "a"\nage: 5\n\n{ "a": 1 }', prints });
    for (const shows of [
      'HTTP/1.1 201 Created\netag: "a"\n\n{ "a": 1 }',
      'HTTP/1.1 200 OK\netag: "b"\n\n{ "a": 1 }',
      'HTTP/1.1 200 OK\nvary: "a"\n\n{ "a": 1 }',
      'HTTP/1.1 200 OK\n\n{ "a": 2 }',
    ])
      await expect(run({ info, shows, prints }), shows).rejects.toThrow();
  });

  test('must succeed, and an answer must belong to one', async () => {
    for (const command of ['false | cat', `echo '{"error":{}}'`]) {
      const example = { title: '', command, answer: undefined };
      await expect(runExample(example, '', {}, new Map()), command).rejects.toThrow();
    }
    expect(() => examplesOf('```json answer\n{}\n```')).toThrow('follows no example');
  });
});
