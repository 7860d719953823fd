import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Reply, useService } from '../support/service.ts';

/** Any sequence of requests, some of them sent again, answers as a model of a few lines says. */

const service = useService();

type Step =
  | { kind: 'post'; title: string; key: string | undefined }
  | { kind: 'patch'; record: number; title: string; tag: Tag }
  | { kind: 'delete'; record: number; tag: Tag };
type Tag = 'none' | 'current' | 'first' | 'weak' | 'any';

type Known = { url: string; title: string; first: string; current: string; isLive: boolean };
type Model = { records: Known[]; keys: Map<string, { title: string; answer: string }> };

const title = fc.constantFrom('Oaxaca', 'Mérida', 'Puebla');
const tag = fc.constantFrom<Tag>('none', 'current', 'first', 'weak', 'any');
const record = fc.nat({ max: 3 });
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constant('post' as const), title, key: fc.constantFrom(undefined, 'a', 'b') }),
  fc.record({ kind: fc.constant('patch' as const), record, title, tag }),
  fc.record({ kind: fc.constant('delete' as const), record, tag }),
);

/** What the model expects of a POST: its first answer's text, a refusal, or undefined for a new record. */
function repeated({ keys }: Model, { key, title }: { key: string | undefined; title: string }) {
  const kept = key === undefined ? undefined : keys.get(key);
  return (
    kept && (kept.title === title ? { status: 201, text: kept.answer } : { status: 409, text: undefined })
  );
}

/** What the model expects of a change. */
function statusOf(known: Known, tag: Tag): number {
  if (!known.isLive) return 404;
  const matches =
    tag === 'none' ||
    tag === 'any' ||
    tag === 'current' ||
    (tag === 'first' && known.first === known.current);
  return matches ? 200 : 412;
}

const headerOf = (known: Known, tag: Tag): Record<string, string> => {
  const texts = { current: known.current, first: known.first, weak: `W/${known.current}`, any: '*' };
  return tag === 'none' ? {} : { 'if-match': texts[tag] };
};

test('POSTs with keys and without, PATCHes and DELETEs with tags and without, and repeats of them', async () => {
  const seen = new Set<string>();
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), async (steps) => {
      const agency = await service.agency();
      const model: Model = { records: [], keys: new Map() };
      for (const step of steps) {
        if (step.kind === 'post') {
          const { title, key } = step;
          const headers = key === undefined ? {} : { 'idempotency-key': key };
          const answer = await agency.post('/v1/catalog/products', { title }, { headers });
          const again = repeated(model, step);
          expect(answer.status).toBe(again?.status ?? 201);
          expect(answer.headers['idempotency-replayed']).toBe(again?.text && 'true');
          seen.add(`post ${again?.status ?? 'new'}`);
          if (again?.text !== undefined) expect(answer.text).toBe(again.text);
          if (again) continue;
          if (key !== undefined) model.keys.set(key, { title, answer: answer.text });
          const url = `/v1/catalog/products/${answer.body.id}`;
          const first = String((await agency.get(url)).headers.etag);
          model.records.push({ url, title, first, current: first, isLive: true });
          continue;
        }
        const known = model.records[step.record];
        if (!known) continue;
        const headers = headerOf(known, step.tag);
        const answer: Reply = await (step.kind === 'patch'
          ? agency.patch(known.url, { title: step.title }, { headers })
          : agency.delete(known.url, { headers }));
        expect(answer.status).toBe(statusOf(known, step.tag));
        seen.add(`${step.kind} ${answer.status}`);
        if (answer.status !== 200) continue;
        if (step.kind === 'delete') known.isLive = false;
        else {
          const { etag = '' } = answer.headers;
          expect(etag === known.current).toBe(step.title === known.title);
          Object.assign(known, { title: step.title, current: etag });
        }
      }
      const { body } = await agency.get('/v1/catalog/products?limit=100');
      const live = model.records.filter(({ isLive }) => isLive).map(({ title }) => title);
      expect(body.data.map((product: { title: string }) => product.title).sort()).toEqual(live.sort());
    }),
    { numRuns: 60, endOnFailure: true },
  );
  expect([...seen].sort()).toEqual([
    ...['delete 200', 'delete 404', 'delete 412', 'patch 200', 'patch 404', 'patch 412'],
    ...['post 201', 'post 409', 'post new'],
  ]);
});
