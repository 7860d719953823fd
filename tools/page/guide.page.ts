import { describe, expect, test } from 'vitest';
import { CHAPTERS } from '../../src/reference/guide.ts';
import { HOSTS, LOOKS, NAME, PICTURES, seriousFaults, useBrowser } from './browser.ts';

/** The guide in a browser. */

const { ports, open } = useBrowser();
const guide = (chapter = 'start'): string => `http://${NAME}:${ports.api}/docs/guide/${chapter}`;

describe.each(HOSTS)('opened by $by over plain http', ({ host }) => {
  test('the address of the service leads to it, and every chapter opens without a complaint or an outside request', async () => {
    const { page, complaints, outside } = await open(`http://${host}:${ports.api}/`);
    expect(page.url()).toBe(`http://${host}:${ports.api}/docs/guide/start`);
    for (const chapter of CHAPTERS) {
      await page.locator('header nav > ol > li > a').nth(CHAPTERS.indexOf(chapter)).click();
      await page.waitForURL(`**/docs/guide/${chapter}`);
      expect(await page.title()).toContain('Travel agency CRM API');
    }
    expect(complaints).toEqual([]);
    expect(outside).toEqual([]);
    await page.close();
  });

  test('a block of code is copied by its button', async () => {
    const { page } = await open(`http://${host}:${ports.api}/docs/guide/start`);
    const block = page.locator('.code', { hasText: '/v1/opportunities?limit=1' }).first();
    await block.locator('pre').focus();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await block.getByRole('button', { name: 'Copied' }).waitFor();
    await page.evaluate("document.body.insertAdjacentHTML('beforeend', '<textarea id=paste></textarea>')");
    await page.locator('#paste').focus();
    await page.keyboard.press('Control+v');
    expect(await page.locator('#paste').inputValue()).toBe((await block.locator('code').innerText()).trim());
    await page.close();
  });

  test('the search leads to the section that has the words', async () => {
    const { page, complaints, outside } = await open(`http://${host}:${ports.api}/docs/guide/start`);
    await page.getByRole('searchbox', { name: 'Search the guide' }).fill('precondition failed');
    await page.getByRole('link', { name: 'PRECONDITION_FAILED (errors)' }).waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL('**/docs/guide/errors#precondition_failed');
    await page.getByRole('searchbox').fill('zzzz');
    await page.getByText('Nothing was found.').waitFor();
    expect(complaints).toEqual([]);
    expect(outside).toEqual([]);
    await page.close();
  });
});

describe.each(LOOKS)('in $look', ({ look, ...how }) => {
  test.each(CHAPTERS)(
    'axe finds nothing serious in %s, and nothing is wider than the window',
    async (chapter) => {
      const { page } = await open(guide(chapter), how);
      expect(await seriousFaults(page)).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(how.width);
      if (['start', 'errors', 'limits'].includes(chapter))
        await page.screenshot({ path: `${PICTURES}guide-${chapter}-${look}.png` });
      await page.close();
    },
  );

  test('code has the whole width beside the chapters', async () => {
    const { page } = await open(guide(), how);
    const room = await page.locator('main').evaluate((main) => {
      const { clientWidth } = main as unknown as { clientWidth: number };
      return clientWidth;
    });
    for (const block of await page.locator('pre').all())
      expect((await block.boundingBox())?.width).toBeGreaterThan(room * 0.88);
    await page.close();
  });
});

test('it reads the same without scripts', async () => {
  const { page } = await open(guide('errors'), { javaScriptEnabled: false });
  await page.getByRole('heading', { name: 'CUSTOMER_CONTACT_CONFLICT' }).waitFor();
  expect(await page.getByRole('button').count()).toBe(0);
  expect(await page.getByRole('searchbox').count()).toBe(0);
  await page.getByRole('link', { name: 'Retries' }).first().click();
  await page.waitForURL('**/docs/guide/retries');
  await page.close();
});

test('the keyboard reaches the text at once, and scrolls what is wider than its box', async () => {
  const { page } = await open(guide('errors'), { width: 390, height: 844 });
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  expect(await page.evaluate('location.hash')).toBe('#chapter');
  const block = page.locator('pre').first();
  await block.focus();
  await page.keyboard.press('ArrowRight');
  await expect
    .poll(() => block.evaluate((one) => (one as unknown as { scrollLeft: number }).scrollLeft))
    .toBeGreaterThan(0);
  await page.close();
});

test.each(CHAPTERS)('on paper, %s is whole and has no navigation', async (chapter) => {
  const { page } = await open(guide(chapter), { width: 720, height: 1_000 });
  await page.emulateMedia({ media: 'print' });
  for (const hidden of ['header', '.next', 'main button'])
    expect(await page.locator(hidden).filter({ visible: true }).count()).toBe(0);
  const cut =
    "[...document.querySelectorAll('main *')].filter((one) => one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).overflowX !== 'visible').length";
  expect(await page.evaluate(cut)).toBe(0);
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(720);
  await page.screenshot({ path: `${PICTURES}guide-${chapter}-print.png`, fullPage: true });
  await page.close();
});

test.each(LOOKS)('a link to a heading leads there: $look', async ({ look: _look, ...how }) => {
  const { page } = await open(`${guide('errors')}#precondition_failed`, how);
  const heading = page.getByRole('heading', { name: 'PRECONDITION_FAILED' });
  await expect
    .poll(() => heading.boundingBox().then((box) => box && box.y >= 0 && box.y < how.height))
    .toBe(true);
  await page.close();
});
