import { describe, expect, test } from 'vitest';
import { HOSTS, LOOKS, NAME, seriousFaults, useBrowser } from './browser.ts';

/** The guide in a browser. */

const { ports, open } = useBrowser();
const guide = (hash = ''): string => `http://${NAME}:${ports.api}/docs/guide${hash}`;

test.each(HOSTS)(
  'opened by $by over plain http, its links work without an outside request',
  async ({ host }) => {
    const { page, complaints } = await open(`http://${host}:${ports.api}/`);
    expect(page.url()).toBe(`http://${host}:${ports.api}/docs/guide`);
    await page.getByRole('link', { name: 'Errors', exact: true }).first().click();
    await page.waitForURL('**/docs/guide#errors');
    const button = page.getByRole('button', { name: 'Copy' }).first();
    await button.click();
    await page.getByRole('button', { name: /Copied|Selected/ }).waitFor();
    expect(complaints).toEqual([]);
    await page.close();
  },
);

describe.each(LOOKS)('in $look', ({ look: _, ...how }) => {
  test('axe finds nothing serious, nothing is wider than the window, and no button lies on an example', async () => {
    const { page } = await open(guide(), how);
    expect(await seriousFaults(page)).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(how.width);
    const button = await page.getByRole('button', { name: 'Copy' }).first().boundingBox();
    const code = await page.locator('pre code').first().boundingBox();
    expect(Number(button?.y) + Number(button?.height)).toBeLessThanOrEqual(Number(code?.y));
    await page.close();
  });

  test('a link to a chapter of the former address leads to its heading', async () => {
    const { page } = await open(guide('/errors'), how);
    const heading = page.getByRole('heading', { name: 'Errors', exact: true });
    await expect
      .poll(() => heading.boundingBox().then((box) => box && box.y >= 0 && box.y < how.height))
      .toBe(true);
    await page.close();
  });
});

test('it reads the same without scripts', async () => {
  const { page } = await open(guide('#errors'), { javaScriptEnabled: false });
  await page.getByRole('heading', { name: 'CUSTOMER_CONTACT_CONFLICT' }).waitFor();
  expect(await page.getByRole('button').count()).toBe(0);
  await page.close();
});
