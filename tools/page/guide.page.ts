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
    expect(complaints).toEqual([]);
    await page.close();
  },
);

describe.each(LOOKS)('in $look', ({ look: _, ...how }) => {
  test('axe finds nothing serious, and nothing is wider than the window', async () => {
    const { page } = await open(guide(), how);
    expect(await seriousFaults(page)).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(how.width);
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
  await page.close();
});
