import { describe, expect, test } from 'vitest';
import { MAX_PRODUCT_TEXT, textError } from '../../rules/product-text.ts';
import { newId } from '../../src/db/sql/ids.ts';
import { useDashboard } from '../support/dashboard.ts';

describe('all text of a product', () => {
  const title = 'x'.repeat(10);
  const rest = MAX_PRODUCT_TEXT - 12;

  test('has room for the limit and not a byte more; texts count as JSON in UTF-8', () => {
    expect(textError({ title, description: 'x'.repeat(rest - 2) })).toBeUndefined();
    expect(textError({ title, description: 'x'.repeat(rest - 1) })).toMatchObject({ path: ['description'] });
    expect(textError({ title, description: 'á'.repeat(rest / 2 - 1) })).toBeUndefined();
    expect(textError({ title, description: 'á'.repeat(rest / 2) })).toBeDefined();
    expect(textError({ title, description: '\u0001'.repeat(rest / 6 + 1) })).toBeDefined();
    expect(textError({ title, includes: Array(rest / 2 + 1).fill('') })).toMatchObject({
      path: ['includes'],
    });
  });

  test('is too long by its largest field, of variants too', () => {
    const variants = [{ label: 'a', description: 'x'.repeat(150_000) }, { includes: ['x'.repeat(160_000)] }];
    expect(textError({ title, variants })).toMatchObject({ path: ['variants', 1, 'includes'] });
  });

  test('counts what is stored, but for what is sent in its place', () => {
    const stored = {
      title,
      description: 'x'.repeat(100_000),
      variants: [{ description: 'x'.repeat(100_000) }],
    };
    expect(textError({ specialConditions: 'x'.repeat(50_000) }, stored)).toBeUndefined();
    expect(textError({ specialConditions: 'x'.repeat(70_000), operator: 'x' }, stored)).toMatchObject({
      path: ['specialConditions'],
    });
    expect(textError({ description: 'x'.repeat(150_000) }, stored)).toBeUndefined();
  });

  test('is the same for a PATCH as for a create: ids and moments do not count', () => {
    const moment = new Date().toISOString();
    const stored = { id: newId(), title, variants: [{ id: newId() }], createdAt: moment, updatedAt: moment };
    expect(textError({ description: 'x'.repeat(rest - 2) }, stored)).toBeUndefined();
    expect(textError({ description: 'x'.repeat(rest - 1) }, stored)).toBeDefined();
  });

  test('of a product that is over the limit can always be shortened', () => {
    const stored = { title, description: 'x'.repeat(200_000), specialConditions: 'x'.repeat(200_000) };
    expect(textError({ description: 'x'.repeat(100_000) }, stored)).toBeUndefined();
    expect(textError({ description: 'x'.repeat(200_001) }, stored)).toBeDefined();
  });
});

describe('the service', () => {
  const { service, dashboard } = useDashboard();
  const long = 'x'.repeat(50_000);
  const rule =
    /^is too long: the text of a product with its variants can have 262144 bytes, and would have \d+$/;
  const variantsOf = (count: number) =>
    Array.from({ length: count }, () => ({ label: 'x', description: long }));

  test('holds a create to it, and a PATCH of either API with what is stored, which then stays as it is', async () => {
    const agency = await service.agency();
    const create = (variants: object[], more: object = {}) =>
      agency.post('/v1/catalog/products', { title: 'x', variants, ...more });
    const refused = await create(variantsOf(5), { includes: Array(20).fill('y'.repeat(1_000)) });
    const { body: stored } = await create(variantsOf(4));
    const path = `/v1/catalog/products/${stored.id}`;
    const fits = await agency.patch(path, { description: long });
    expect(fits.status).toBe(200);
    const over = await agency.patch(path, { specialConditions: long, operator: 'x' });
    const gallery = Array(20).fill('z'.repeat(1_000));
    const media = await dashboard.of(agency).patch(`/catalog/products/${stored.id}`, { gallery });
    for (const [{ status, body }, field] of [
      [refused, 'body.variants[0].description'],
      [over, 'body.specialConditions'],
      [media, 'body.gallery'],
    ] as const) {
      expect(status).toBe(400);
      expect(body.error.details).toEqual([{ path: field, message: expect.stringMatching(rule) }]);
    }
    expect((await agency.get('/v1/catalog/products')).body.data).toEqual([fits.body]);
    expect((await agency.patch(path, { description: 'x', specialConditions: long })).status).toBe(200);
    expect((await agency.patch(`/v1/catalog/products/${newId()}`, { description: long })).status).toBe(404);
  });

  test('holds patches that arrive together to it', async () => {
    const agency = await service.agency();
    const body = { title: 'x', variants: variantsOf(3) };
    const { id } = (await agency.post('/v1/catalog/products', body)).body;
    const lists = Array(49).fill('y'.repeat(1_000));
    const patches = [
      { description: long },
      { specialConditions: long },
      { includes: lists },
      { excludes: lists },
    ];
    const answers = await Promise.all(
      patches.map((patch) => agency.patch(`/v1/catalog/products/${id}`, patch)),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 400, 400]);
  });
});
