import { describe, expect, test } from 'vitest';
import { MAX_PRODUCT_TEXT, textError } from '../../rules/product-text.ts';
import { newId } from '../../src/db/index.ts';
import { useDashboard } from '../support/dashboard.ts';

describe('textError', () => {
  const title = 'x'.repeat(10);
  /** The bytes that remain beside the title, of which two are the quotes of another text. */
  const rest = MAX_PRODUCT_TEXT - 12;

  test.each([
    ['as many bytes as allowed', { description: 'x'.repeat(rest - 2) }, undefined],
    ['one byte more', { description: 'x'.repeat(rest - 1) }, ['description']],
    ['as many two-byte characters as fit', { description: 'á'.repeat(rest / 2 - 1) }, undefined],
    ['one two-byte character more', { description: 'á'.repeat(rest / 2) }, ['description']],
    [
      'too many characters that JSON escapes',
      { description: '\u0001'.repeat(rest / 6 + 1) },
      ['description'],
    ],
    ['too many empty entries of a list', { includes: Array(rest / 2 + 1).fill('') }, ['includes']],
    [
      'long fields in its variants',
      { variants: [{ description: 'x'.repeat(150_000) }, { includes: ['x'.repeat(160_000)] }] },
      ['variants', 1, 'includes'],
    ],
  ])('of a product with %s names the largest field if the text is too long', (_what, fields, path) => {
    expect(textError({ title, ...fields })?.path).toEqual(path);
  });

  test('adds the stored text, except fields that are replaced', () => {
    const description = 'x'.repeat(100_000);
    const stored = { title, description, variants: [{ description }] };
    expect(textError({ specialConditions: 'x'.repeat(50_000) }, stored)).toBeUndefined();
    expect(textError({ description: 'x'.repeat(150_000) }, stored)).toBeUndefined();
    expect(textError({ specialConditions: 'x'.repeat(70_000), operator: 'x' }, stored)).toMatchObject({
      path: ['specialConditions'],
    });
  });

  test('does not count ids and timestamps: a PATCH has the limit of a create', () => {
    const now = new Date().toISOString();
    const stored = { id: newId(), title, variants: [{ id: newId() }], createdAt: now, updatedAt: now };
    expect(textError({ description: 'x'.repeat(rest - 2) }, stored)).toBeUndefined();
    expect(textError({ description: 'x'.repeat(rest - 1) }, stored)).toBeDefined();
  });

  test('lets a product that is over the limit become shorter, but not longer', () => {
    const stored = { title, description: 'x'.repeat(200_000), specialConditions: 'x'.repeat(200_000) };
    expect(textError({ description: 'x'.repeat(100_000) }, stored)).toBeUndefined();
    expect(textError({ description: 'x'.repeat(200_001) }, stored)).toBeDefined();
  });
});

describe('the service', () => {
  const { service, dashboard } = useDashboard();
  const PRODUCTS = '/v1/catalog/products';
  const long = 'x'.repeat(50_000);
  const variantsOf = (count: number) =>
    Array.from({ length: count }, () => ({ label: 'x', description: long }));
  const tooLong = (path: string) => {
    const message = expect.stringMatching(
      /^is too long: the text of a product with its variants can have 262144 bytes, and would have \d+$/,
    );
    return { status: 400, body: { error: { details: [{ path, message }] } } };
  };

  test('rejects a create or a PATCH of either API beyond the limit, and changes nothing', async () => {
    const agency = await service.agency();
    const list = Array(20).fill('y'.repeat(1_000));
    expect(
      await agency.post(PRODUCTS, { title: 'x', variants: variantsOf(5), includes: list }),
    ).toMatchObject(tooLong('body.variants[0].description'));
    const { body } = await agency.post(PRODUCTS, { title: 'x', variants: variantsOf(4) });
    const path = `${PRODUCTS}/${body.id}`;
    const fits = await agency.patch(path, { description: long });
    expect(fits.status).toBe(200);
    expect(await agency.patch(path, { specialConditions: long, operator: 'x' })).toMatchObject(
      tooLong('body.specialConditions'),
    );
    expect(await dashboard.of(agency).patch(`/catalog/products/${body.id}`, { gallery: list })).toMatchObject(
      tooLong('body.gallery'),
    );
    expect((await agency.get(PRODUCTS)).body.data).toEqual([fits.body]);
    expect((await agency.patch(path, { description: 'x', specialConditions: long })).status).toBe(200);
    expect((await agency.patch(`${PRODUCTS}/${newId()}`, { description: long })).status).toBe(404);
  });

  test('holds simultaneous PATCHes to the limit together', async () => {
    const agency = await service.agency();
    const { body } = await agency.post(PRODUCTS, { title: 'x', variants: variantsOf(3) });
    const list = Array(49).fill('y'.repeat(1_000));
    const responses = await Promise.all(
      [{ description: long }, { specialConditions: long }, { includes: list }, { excludes: list }].map(
        (change) => agency.patch(`${PRODUCTS}/${body.id}`, change),
      ),
    );
    expect(responses.map(({ status }) => status).sort()).toEqual([200, 200, 400, 400]);
  });
});
