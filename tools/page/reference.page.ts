import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { HOSTS, LOOKS, NAME, seriousFaults, useBrowser } from './browser.ts';

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
    const { page, complaints } = await open(url);
    expect(await page.title()).toBe('Travel agency CRM API');
    await page.getByRole('heading', { name: 'Travel agency CRM API' }).first().waitFor();
    await token(page).fill(demo.key);
    await page.goto(`${url}#tag/team/GET/v1/team`);
    await testRequest(page).click();
    const answered = page.waitForResponse((response) => response.url().includes('/v1/team'));
    await sendButton(page).click();
    expect((await answered).status()).toBe(200);
    await page.getByText('mariana.castaneda@rutasdelsur.example').first().waitFor();

    expect(complaints).toEqual([]);
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
    const { page, complaints } = await open(`http://${host}:${ports.dashboard}/`);
    expect(page.url()).toBe(`http://${host}:${ports.dashboard}/docs/`);
    await page.getByRole('heading', { name: 'Travel agency CRM dashboard API' }).first().waitFor();
    expect(complaints).toEqual([]);
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

describe.each(LOOKS)('in $look', ({ look: _, ...how }) => {
  test('axe finds nothing serious, and nothing is wider than the window', async () => {
    const { page } = await open(reference('#tag/customers/POST/v1/customers'), how);
    await page.getByRole('heading', { name: 'Create a customer' }).first().waitFor();
    expect(await seriousFaults(page)).toEqual([]);
    expect(await page.getAttribute('html', 'lang')).toBe('en');
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(how.width);
    await page.close();
  });
});
