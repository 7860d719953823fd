import { mkdirSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { networkInterfaces } from 'node:os';
import axe from 'axe-core';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loadDemo } from '../../demo/load.ts';
import { buildDashboard } from '../../test/dashboard/dashboard.ts';
import { type Service, startService } from '../../test/support/service.ts';

/** The reference page as its readers use it, in Debian's Chromium. Pictures of it are left in .data/page/. */

const NAME = 'crm.agency.test';
/** Not a loopback address: to these a browser is kinder than to the one of a server in an office. */
const [address] = Object.values(networkInterfaces())
  .flatMap((addresses) => addresses ?? [])
  .filter(({ internal, family }) => !internal && family === 'IPv4')
  .map(({ address }) => address);
const PICTURES = new URL('../../.data/page/', import.meta.url).pathname;

let service: Service;
let dashboard: Awaited<ReturnType<typeof buildDashboard>>;
let browser: Browser;
let key: string;
const ports = { api: 0, dashboard: 0 };

const listen = async (app: Service['app']): Promise<number> => {
  await app.listen({ host: '0.0.0.0', port: 0 });
  return (app.server.address() as AddressInfo).port;
};

beforeAll(async () => {
  service = await startService();
  key = (await loadDemo(service)) ?? '';
  dashboard = await buildDashboard(service);
  ports.api = await listen(service.app);
  ports.dashboard = await listen(dashboard.app);
  mkdirSync(PICTURES, { recursive: true });
  browser = await chromium.launch({
    executablePath: '/usr/bin/chromium',
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      `--host-resolver-rules=MAP ${NAME} 127.0.0.1`,
    ],
  });
});
afterAll(async () => {
  await browser?.close();
  await dashboard?.app.close();
  await service?.close();
});

type Look = { width?: number; height?: number; colorScheme?: 'light' | 'dark' };

/** Opens a page and hears what goes wrong on it. */
async function open(url: string, { width = 1400, height = 900, colorScheme = 'light' }: Look = {}) {
  const page = await browser.newPage({ viewport: { width, height }, colorScheme });
  const complaints: string[] = [];
  const outside: string[] = [];
  let transferred = 0;
  const { origin } = new URL(url);
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('request', (request) => {
    if (!request.url().startsWith(`${origin}/`) && !/^(data|blob):/.test(request.url()))
      outside.push(request.url());
  });
  page.on('requestfinished', async (request) => {
    transferred += (await request.sizes()).responseBodySize;
  });
  await page.goto(url, { waitUntil: 'networkidle' });
  return { page, complaints, outside, transferred: () => transferred };
}

/** All that the browser keeps for the page. As text: the types of this project know no browser. */
const kept = (page: Page): Promise<string> =>
  page.evaluate(`(async () => JSON.stringify([
    { ...localStorage }, { ...sessionStorage }, document.cookie, await indexedDB.databases(),
  ]))()`);

const token = (page: Page) => page.getByPlaceholder('Token').first();

describe.each([
  { by: 'name', host: NAME },
  ...(address === undefined ? [] : [{ by: 'address', host: address }]),
])('opened by $by over plain http', ({ host }) => {
  test('it takes a key, makes a call and shows its answer, and finds a code by search', async () => {
    const url = `http://${host}:${ports.api}/docs/`;
    const { page, complaints, outside, transferred } = await open(url);
    await expect.poll(() => page.title()).toContain('Travel agency CRM API');
    const first = transferred();

    await token(page).fill(key);
    await page.goto(`${url}#tag/team/GET/v1/team`);
    await page.getByRole('button', { name: /Test Request.*v1\/team/ }).click();
    const answered = page.waitForResponse((response) => response.url().includes('/v1/team'));
    await page
      .getByRole('button', { name: 'Send Request' })
      .or(page.getByRole('button', { name: /^Send/ }))
      .first()
      .click();
    expect((await answered).status()).toBe(200);
    await page.getByText('mariana.castaneda@rutasdelsur.example').first().waitFor();
    await page.screenshot({ path: `${PICTURES}answer.png` });
    await page.keyboard.press('Escape');

    await page.goto(url);
    await page.keyboard.press('Control+k');
    await page.keyboard.type('CUSTOMER_CONTACT_CONFLICT');
    await page.getByRole('option', { name: /409 Customer contact conflict/ }).click();
    await page.waitForURL(`${url}#description/409-customer-contact-conflict`);
    const heading = page.getByRole('heading', { name: '409 Customer contact conflict' });
    await expect.poll(() => heading.boundingBox().then((box) => box && box.y >= 0 && box.y < 900)).toBe(true);
    await page.screenshot({ path: `${PICTURES}code.png` });

    expect(complaints).toEqual([]);
    expect(outside).toEqual([]);
    expect(first).toBeGreaterThan(100_000);
    expect(first).toBeLessThan(1_500_000);
    await page.close();
  });

  test('it keeps the key nowhere', async () => {
    const { page } = await open(`http://${host}:${ports.api}/docs/`);
    await token(page).fill(key);
    await page.waitForTimeout(1_000);
    expect(await kept(page)).not.toContain(key.slice(5, 48));
    await page.reload({ waitUntil: 'networkidle' });
    expect(await token(page).inputValue()).toBe('');
    await page.close();
  });

  test('the page of the dashboard API opens without complaint', async () => {
    const { page, complaints, outside } = await open(`http://${host}:${ports.dashboard}/docs/`);
    await page.getByRole('heading', { name: 'Travel agency CRM dashboard API' }).first().waitFor();
    expect(complaints).toEqual([]);
    expect(outside).toEqual([]);
    await page.close();
  });
});

test.each([
  'tag/catalog/POST/v1/catalog/products',
  'description/429-rate-limit-exceeded',
  'description/names-that-do-not-exist',
])('a link to #%s leads there', async (hash) => {
  const { page } = await open(`http://${NAME}:${ports.api}/docs/#${hash}`);
  const target = page.locator(`[id$="${hash}"]`).first();
  await expect.poll(() => target.boundingBox().then((box) => box && box.y > -100 && box.y < 900)).toBe(true);
  await page.close();
});

test('its commands and samples name the address that it was read from, and links lead to the document and the guide', async () => {
  const { page } = await open(`http://${NAME}:${ports.api}/docs/`);
  await page.getByRole('heading', { name: 'Attachments', exact: true }).waitFor();
  const text = await page.innerText('body');
  expect(text).toContain(`http://${NAME}:${ports.api}/v1/`);
  expect(text).not.toContain('localhost:3000');
  for (const name of ['OpenAPI document', 'guide as one text']) {
    const link = await page.getByRole('link', { name }).first().getAttribute('href');
    const { href } = new URL(String(link), `http://127.0.0.1:${ports.api}/docs/`);
    expect((await page.request.get(href)).status()).toBe(200);
  }
  await page.close();
});

test('every link inside the guide leads to a heading of the page', async () => {
  const { page } = await open(`http://${NAME}:${ports.api}/docs/`);
  await page.getByRole('heading', { name: 'Attachments', exact: true }).waitFor();
  const links: string[] = await page.evaluate(
    `[...document.querySelectorAll('main a[href^="#description/"], main a[href*=".md"]:not([href="guide.md"])')].map((link) => link.getAttribute('href'))`,
  );
  const ids: string[] = await page.evaluate(
    `[...document.querySelectorAll('[id*="/description/"]')].map(({ id }) => '#' + id.slice(id.indexOf('description/')))`,
  );
  expect(links.length).toBeGreaterThan(20);
  expect(links.filter((link) => !ids.includes(link))).toEqual([]);
  await page.close();
});

const widths = { desk: 1400, tablet: 820, phone: 390 };

test.each(
  Object.entries(widths).flatMap(([name, width]) =>
    (['light', 'dark'] as const).map((colorScheme) => ({ name, width, colorScheme })),
  ),
)('axe finds nothing serious: $name, $colorScheme', async ({ width, colorScheme }) => {
  const url = `http://${NAME}:${ports.api}/docs/#tag/customers/POST/v1/customers`;
  const { page } = await open(url, { width, colorScheme });
  await page.getByRole('heading', { name: 'Create a customer' }).first().waitFor();
  await page.getByRole('heading', { name: 'Attachments', exact: true }).waitFor();
  await page.evaluate(axe.source);
  type Found = { impact: string; id: string; nodes: { html: string }[] };
  const found: Found[] = await page.evaluate('axe.run().then(({ violations }) => violations)');
  const serious = found.filter(({ impact }) => impact === 'serious' || impact === 'critical');
  expect(
    serious.map(({ id, nodes }) => [id, nodes.length, nodes.map(({ html }) => html).slice(0, 3)]),
  ).toEqual([]);
  expect(await page.getAttribute('html', 'lang')).toBe('en');
  await page.close();
});

test('a block of the guide scrolls by keyboard and is copied by its button', async () => {
  const { page } = await open(`http://${NAME}:${ports.api}/docs/`);
  const block = page.locator('.markdown pre', { hasText: '/v1/team?limit=1' }).first();
  const code = block.locator('code');
  await code.focus();
  await page.keyboard.press('ArrowRight');
  await expect
    .poll(() => code.evaluate((one) => (one as unknown as { scrollLeft: number }).scrollLeft))
    .toBeGreaterThan(0);
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await block.getByRole('button', { name: 'Copied' }).waitFor();
  await token(page).focus();
  await page.keyboard.press('Control+v');
  expect(await token(page).inputValue()).toBe((await code.innerText()).trim().replaceAll('\n', ''));
  await page.close();
});

test('a call can be shown in the languages that agencies have', async () => {
  const { page } = await open(`http://${NAME}:${ports.api}/docs/`);
  await page.locator('.client-libraries__select').first().click();
  const offered = await page.getByRole('listbox').innerText();
  for (const name of ['PHP', 'C#', 'Java', 'Go', 'Ruby', 'Python']) expect(offered).toContain(name);
  await page.close();
});

test('a call that is tried sends no header of an example', async () => {
  const { page } = await open(`http://${NAME}:${ports.api}/docs/#tag/team/GET/v1/team`);
  await token(page).fill(key);
  await page.getByRole('button', { name: /Test Request.*v1\/team/ }).click();
  const asked = page.waitForRequest((request) => request.url().includes('/v1/team'));
  await page.getByRole('button', { name: /^Send/ }).first().click();
  expect(Object.keys(await (await asked).allHeaders())).not.toContain('if-none-match');
  await page.close();
});

test.each([
  { look: 'light', width: 1400, height: 900, colorScheme: 'light' },
  { look: 'dark', width: 1400, height: 900, colorScheme: 'dark' },
  { look: 'phone-light', width: 390, height: 844, colorScheme: 'light' },
  { look: 'phone-dark', width: 390, height: 844, colorScheme: 'dark' },
] as const)('nothing is wider than the window: $look', async ({ look, ...how }) => {
  const { page } = await open(`http://${NAME}:${ports.api}/docs/#tag/customers/POST/v1/customers`, how);
  await page.getByRole('heading', { name: 'Create a customer' }).first().waitFor();
  await page.screenshot({ path: `${PICTURES}${look}.png` });
  const width = await page.evaluate('document.documentElement.scrollWidth');
  expect(width).toBeLessThanOrEqual(how.width);
  await page.close();
});
