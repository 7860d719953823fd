import { beforeAll, expect, test } from 'vitest';
import { useService } from '../../test/support/service.ts';
import { listen } from '../../test/support/socket.ts';
import { answerInfo, createClient } from '../src/index.ts';

const service = useService();
let baseUrl: string;

beforeAll(async () => {
  baseUrl = (await listen(service)).origin;
});

test('a change is held to the version that was read, made or changed last', async () => {
  const { key: apiKey } = await service.agency();
  const crm = createClient({ apiKey, baseUrl });
  const made = await crm.products.create({ title: 'Patagonia' });
  const read = await crm.products.get(made.id);
  const changed = await crm.products.update(read.id, { fromPrice: 1 }, { ifMatch: read });
  const late = crm.products.update(read.id, { fromPrice: 2 }, { ifMatch: read });
  await expect(late).rejects.toMatchObject({ status: 412, code: 'PRECONDITION_FAILED' });
  await expect(crm.products.archive(read.id, { ifMatch: read })).rejects.toMatchObject({ status: 412 });
  expect(await crm.products.update(read.id, { fromPrice: 3 }, { ifMatch: changed })).toMatchObject({
    fromPrice: 3,
  });
  await crm.products.archive(read.id, { ifMatch: '*' });
});

test('a create with the key of an earlier one says so, and makes no second record', async () => {
  const { key: apiKey } = await service.agency();
  const crm = createClient({ apiKey, baseUrl });
  const options = { idempotencyKey: 'form 1' };
  const first = await crm.products.create({ title: 'Patagonia' }, options);
  const second = await crm.products.create({ title: 'Patagonia' }, options);
  expect(second).toEqual(first);
  expect([first, second].map((answer) => answerInfo(answer)?.replayed)).toEqual([false, true]);
  const other = crm.products.create({ title: 'Norte' }, options);
  await expect(other).rejects.toMatchObject({ code: 'IDEMPOTENCY_KEY_REUSED' });
  expect((await crm.products.list()).pagination.total).toBe(1);
});
