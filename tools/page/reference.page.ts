import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { HOSTS, LOOKS, NAME, PICTURES, seriousFaults, useBrowser } from './browser.ts';

/** The reference page in a browser. */

const { ports, demo, open } = useBrowser();
const reference = (hash = ''): string => `http://${NAME}:${ports.api}/docs/${hash}`;

/** Everything that the browser stores for the page. As text, because the types of this project have no browser. */
const kept = (page: Page): Promise<string> =>
  page.evaluate(`(async () => JSON.stringify([
    { ...localStorage }, { ...sessionStorage }, document.cookie, await indexedDB.databases(),
  ]))()`);

const token = (page: Page) => page.getByPlaceholder('Token').first();
const testRequest = (page: Page) => page.getByRole('button', { name: /Test Request.*v1\/team/ });
const sendButton = (page: Page) => page.getByRole('button', { name: /^Send/ }).first();

describe.each(HOSTS)('opened by $by over plain http', ({ host }) => {
  test('it takes a key, makes a call and shows its answer', async () => {
    const url = `http://${host}:${ports.api}/docs/`;
    const { page, complaints, outside, transferred } = await open(url);
    expect(await page.title()).toBe('Travel agency CRM API');
    await page.getByRole('heading', { name: 'Travel agency CRM API' }).first().waitFor();
    const first = await transferred();

    await token(page).fill(demo.key);
    await page.goto(`${url}#tag/team/GET/v1/team`);
    await testRequest(page).click();
    const asked = page.waitForRequest((request) => request.url().includes('/v1/team'));
    const answered = page.waitForResponse((response) => response.url().includes('/v1/team'));
    await sendButton(page).click();
    // Header examples are not sent: no record has the tag of an example.
    expect(Object.keys(await (await asked).allHeaders())).not.toContain('if-none-match');
    expect((await answered).status()).toBe(200);
    await page.getByText('mariana.castaneda@rutasdelsur.example').first().waitFor();
    await page.screenshot({ path: `${PICTURES}answer.png` });

    expect(complaints).toEqual([]);
    expect(outside).toEqual([]);
    expect(first).toBeGreaterThan(100_000);
    expect(first).toBeLessThan(1_600_000);
    await page.close();
  });

  test('it keeps the key nowhere', async () => {
    const { page } = await open(`http://${host}:${ports.api}/docs/`);
    await token(page).fill(demo.key);
    await page.waitForTimeout(1_000);
    expect(await kept(page)).not.toContain(demo.key.slice(5, 48));
    await page.reload({ waitUntil: 'networkidle' });
    expect(await token(page).inputValue()).toBe('');
    await page.close();
  });

  test('the page of the dashboard API opens without complaint', async () => {
    const { page, complaints, outside } = await open(`http://${host}:${ports.dashboard}/`);
    expect(page.url()).toBe(`http://${host}:${ports.dashboard}/docs/`);
    await page.getByRole('heading', { name: 'Travel agency CRM dashboard API' }).first().waitFor();
    expect(complaints).toEqual([]);
    expect(outside).toEqual([]);
    await page.close();
  });
});

test('without scripts it leads to the guide and the document', async () => {
  const { page } = await open(reference(), { javaScriptEnabled: false });
  await page.getByText('The reference is loading, and needs scripts.').waitFor();
  await page.getByRole('link', { name: 'guide' }).click();
  await page.waitForURL('**/docs/guide*');
  await page.close();
});

test('a link to an operation leads there', async () => {
  const hash = 'tag/catalog/POST/v1/catalog/products';
  const { page } = await open(reference(`#${hash}`));
  const target = page.locator(`[id$="${hash}"]`).first();
  await expect.poll(() => target.boundingBox().then((box) => box && box.y > -100 && box.y < 900)).toBe(true);
  await page.close();
});

test('a call can be shown in the languages that agencies have', async () => {
  const { page } = await open(reference());
  await page.locator('.client-libraries__select').first().click();
  const offered = await page.getByRole('listbox').innerText();
  for (const name of ['PHP', 'C#', 'Java', 'JavaScript', 'Go', 'Ruby', 'Python'])
    expect(offered).toContain(name);
  await page.close();
});

describe.each(LOOKS)('in $look', ({ look, ...how }) => {
  test('axe finds nothing serious, and nothing is wider than the window', async () => {
    const { page } = await open(reference('#tag/customers/POST/v1/customers'), how);
    await page.getByRole('heading', { name: 'Create a customer' }).first().waitFor();
    await page.screenshot({ path: `${PICTURES}reference-${look}.png` });
    expect(await seriousFaults(page)).toEqual([]);
    expect(await page.getAttribute('html', 'lang')).toBe('en');
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(how.width);
    await page.close();
  });

  test('axe finds nothing serious in the menu, and in the search and a call what Scalar alone can mend', async () => {
    const { page } = await open(reference('#tag/team/GET/v1/team'), how);
    await testRequest(page).waitFor();
    const rules = async (): Promise<string[]> => (await seriousFaults(page)).map(([rule]) => rule);
    if (how.width < 1_000) {
      const menu = page.getByRole('button', { name: /menu/i }).first();
      await menu.click();
      await page.getByRole('link', { name: 'Opportunities' }).first().waitFor();
      expect(await rules()).toEqual([]);
      await page.screenshot({ path: `${PICTURES}reference-menu-${look}.png` });
      await menu.click();
    }
    await page.keyboard.press('Control+k');
    await page.keyboard.type('archive');
    await page.getByRole('option').first().waitFor();
    // Boxes with suggestions do not say whether they are expanded.
    await expect.poll(rules).toEqual(['aria-required-attr']);
    await page.screenshot({ path: `${PICTURES}reference-search-${look}.png` });
    await page.keyboard.press('Escape');
    await testRequest(page).click();
    await sendButton(page).waitFor();
    // Some elements with a name have no role.
    await expect.poll(rules).toEqual(['aria-prohibited-attr', 'aria-required-attr']);
    await page.screenshot({ path: `${PICTURES}reference-call-${look}.png` });
    await page.close();
  });
});
