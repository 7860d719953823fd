import type { AddressInfo } from 'node:net';
import { networkInterfaces } from 'node:os';
import axe from 'axe-core';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll } from 'vitest';
import { loadDemo } from '../../demo/load.ts';
import { buildDashboard } from '../../test/support/dashboard.ts';
import { type Service, startService } from '../../test/support/service.ts';

/** The service with the demo agency, and Debian's Chromium. */

export const NAME = 'crm.agency.test';
/** Not a loopback address, for which browsers relax their security rules. */
const [address] = Object.values(networkInterfaces())
  .flatMap((addresses) => addresses ?? [])
  .filter(({ internal, family }) => !internal && family === 'IPv4')
  .map(({ address }) => address);
export const HOSTS = [{ by: 'name', host: NAME }, ...(address ? [{ by: 'address', host: address }] : [])];

const listen = async (app: Service['app']): Promise<number> => {
  await app.listen({ host: '0.0.0.0', port: 0 });
  return (app.server.address() as AddressInfo).port;
};

type Look = { width?: number; height?: number; colorScheme?: 'light' | 'dark'; javaScriptEnabled?: boolean };

/** One service and one browser for all tests of a file. */
export function useBrowser() {
  const ports = { api: 0, dashboard: 0 };
  const demo = { key: '' };
  const opened: { close: () => Promise<unknown> }[] = [];
  let browser: Browser;

  beforeAll(async () => {
    const service = await startService();
    opened.unshift(service);
    demo.key = (await loadDemo(service)) ?? '';
    const { app } = await buildDashboard(service);
    opened.unshift(app);
    ports.api = await listen(service.app);
    ports.dashboard = await listen(app);
    browser = await chromium.launch({
      executablePath: '/usr/bin/chromium',
      args: [
        '--no-sandbox',
        '--disable-gpu',
        '--disable-background-networking',
        '--disable-component-update',
      ].concat(`--host-resolver-rules=MAP ${NAME} 127.0.0.1`),
    });
    opened.unshift(browser);
  });
  afterAll(async () => {
    for (const one of opened) await one.close();
  });

  /** Opens a page, and records its errors and its requests to other hosts. */
  async function open(url: string, { width = 1440, height = 900, ...look }: Look = {}) {
    const page = await browser.newPage({ viewport: { width, height }, colorScheme: 'light', ...look });
    const complaints: string[] = [];
    const { origin } = new URL(url);
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
    });
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('request', (request) => {
      if (!request.url().startsWith(`${origin}/`) && !/^(data|blob):/.test(request.url()))
        complaints.push(`asked for ${request.url()}`);
    });
    await page.goto(url, { waitUntil: 'networkidle' });
    return { page, complaints };
  }
  return { ports, demo, open };
}

type Found = { impact: string; id: string; nodes: { html: string }[] };

/** The accessibility violations that axe finds: the rule, how many elements, and some of them. */
export async function seriousFaults(page: Page): Promise<[string, number, string[]][]> {
  await page.evaluate(axe.source);
  const found: Found[] = await page.evaluate('axe.run().then(({ violations }) => violations)');
  return found
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => [id, nodes.length, nodes.map(({ html }) => html.slice(0, 300)).slice(0, 3)]);
}

export const LOOKS = [
  { look: 'light', width: 1440, height: 900, colorScheme: 'light' },
  { look: 'phone-dark', width: 390, height: 844, colorScheme: 'dark' },
] as const;
