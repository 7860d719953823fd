import type { AddressInfo } from 'node:net';
import { networkInterfaces } from 'node:os';
import axe from 'axe-core';
import { type Browser, chromium } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import { loadDemo } from '../../demo/load.ts';
import { buildDashboard } from '../../test/support/dashboard.ts';
import { type Service, startService } from '../../test/support/service.ts';

/** The guide and the reference pages in Debian's Chromium, over plain HTTP. */

const NAME = 'crm.agency.test';
/** Not a loopback address, for which browsers relax their security rules. */
const [address] = Object.values(networkInterfaces())
  .flatMap((addresses) => addresses ?? [])
  .filter(({ internal, family }) => !internal && family === 'IPv4')
  .map(({ address }) => address);
const HOSTS = [NAME, ...(address ? [address] : [])];

const listen = async (app: Service['app']): Promise<number> => {
  await app.listen({ host: '0.0.0.0', port: 0 });
  return (app.server.address() as AddressInfo).port;
};

const ports = { api: 0, dashboard: 0 };
let key: string;
let browser: Browser;
beforeAll(async () => {
  const service = await startService();
  key = (await loadDemo(service)) ?? '';
  const { app } = await buildDashboard(service);
  ports.api = await listen(service.app);
  ports.dashboard = await listen(app);
  const args = ['--no-sandbox', '--disable-gpu', '--disable-background-networking'];
  const resolver = `--host-resolver-rules=MAP ${NAME} 127.0.0.1`;
  browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: [...args, resolver] });
  return async () => {
    await browser.close();
    await app.close();
    await service.close();
  };
});

/** Opens a page, and records its errors and its requests to other hosts. */
async function open(url: string, look: Parameters<Browser['newPage']>[0] = {}) {
  const page = await browser.newPage(look);
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
  });
  page.on('pageerror', ({ message }) => complaints.push(message));
  page.on('request', (request) => {
    const isOutside = !request.url().startsWith(new URL(url).origin) && !/^(data|blob):/.test(request.url());
    if (isOutside) complaints.push(`asked for ${request.url()}`);
  });
  await page.goto(url, { waitUntil: 'networkidle' });
  return { page, complaints };
}

test.each(HOSTS)(
  'the reference of http://%s takes a key, makes a call, shows its response, and stores the key nowhere',
  async (host) => {
    const url = `http://${host}:${ports.api}/docs/`;
    const { page, complaints } = await open(url);
    const token = page.getByPlaceholder('Token').first();
    await token.fill(key);
    await page.goto(`${url}#tag/team/GET/v1/team`);
    await page.getByRole('button', { name: /Test Request.*v1\/team/ }).click();
    await page.getByRole('button', { name: /^Send/ }).first().click();
    await page.getByText('mariana.castaneda@rutasdelsur.example').first().waitFor();
    // As text, because the types of this project have no browser.
    const stored = await page.evaluate(`(async () => JSON.stringify([
      { ...localStorage }, { ...sessionStorage }, document.cookie, await indexedDB.databases(),
    ]))()`);
    expect(stored).not.toContain(key.slice(5, 48));
    expect(complaints).toEqual([]);
    await page.reload({ waitUntil: 'networkidle' });
    expect(await token.inputValue()).toBe('');
    await page.close();
  },
);

test.each(HOSTS)('the reference of the dashboard API at http://%s opens without an error', async (host) => {
  const { page, complaints } = await open(`http://${host}:${ports.dashboard}/docs/`);
  await page.getByRole('heading', { name: 'Travel agency CRM dashboard API' }).first().waitFor();
  expect(complaints).toEqual([]);
  await page.close();
});

test.each(HOSTS)('the links of the guide at http://%s work without an outside request', async (host) => {
  const { page, complaints } = await open(`http://${host}:${ports.api}/docs/guide`);
  await page.getByRole('link', { name: 'Errors', exact: true }).first().click();
  await page.waitForURL('**/docs/guide#errors');
  expect(complaints).toEqual([]);
  await page.close();
});

test('without scripts, the reference leads to the guide, which has all of its text', async () => {
  const { page } = await open(`http://${NAME}:${ports.api}/docs/`, { javaScriptEnabled: false });
  await page.getByText('The reference is loading, and needs scripts.').waitFor();
  await page.getByRole('link', { name: 'guide' }).click();
  await page.waitForURL('**/docs/guide*');
  await page.getByRole('heading', { name: 'CUSTOMER_CONTACT_CONFLICT' }).waitFor();
  await page.close();
});

type Found = { impact: string; id: string; nodes: { html: string }[] };

test.each([
  ['guide', 'light', 1440, 'Errors'],
  ['guide', 'dark', 390, 'Errors'],
  ['#tag/customers/POST/v1/customers', 'light', 1440, 'Create a customer'],
  ['#tag/customers/POST/v1/customers', 'dark', 390, 'Create a customer'],
] as const)(
  'in /docs/%s, %s, axe finds nothing serious, and nothing is wider than %i pixels',
  async (path, colorScheme, width, heading) => {
    const viewport = { width, height: 900 };
    const { page } = await open(`http://${NAME}:${ports.api}/docs/${path}`, { viewport, colorScheme });
    await page.getByRole('heading', { name: heading, exact: true }).first().waitFor();
    await page.evaluate(axe.source);
    const found: Found[] = await page.evaluate('axe.run().then(({ violations }) => violations)');
    expect(found.filter(({ impact }) => impact === 'serious' || impact === 'critical')).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
    await page.close();
  },
);
