import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { createLogger } from '../src/http/logging.ts';
import { operationsOf, readDocument } from './support/contract.ts';
import { buildDashboard, TOKEN, useDashboard } from './support/dashboard.ts';

const { service, dashboard } = useDashboard();

/** Every operation of the document, with ids that nobody has in its path. */
const OPERATIONS_OF_DOCUMENT = operationsOf(readDocument('openapi/dashboard.json')).map(
  ({ method, path }) => ({
    method,
    path: path.replace('/dashboard/v1', '').replace(/\{[^}]+\}/g, () => randomUUID()),
  }),
);

test('no operation answers without the token, with another one, or with an API key; its scheme may have any case', async () => {
  const agency = await service.agency();
  for (const { method, path } of OPERATIONS_OF_DOCUMENT) {
    for (const authorization of [
      undefined,
      `Bearer ${TOKEN}x`,
      `Bearer ${TOKEN.slice(0, -1)}`,
      'Bearer ',
      `Basic ${TOKEN}`,
      `Bearer ${agency.key}`,
    ]) {
      const { status, headers, body } = await dashboard.request(method, path, {
        token: null,
        headers: { 'x-api-key': TOKEN, ...(authorization !== undefined && { authorization }) },
      });
      expect(status, `${method} ${path} with ${authorization}`).toBe(401);
      expect(body.error.code).toBe('UNAUTHORIZED');
      expect(headers['www-authenticate']).toBe('Bearer');
    }
  }
  const headers = { authorization: `bearer  ${TOKEN} ` };
  expect((await dashboard.get('/organizations', { token: null, headers })).status).toBe(200);
});

test('without a token of its own every operation is 503, also with the right one, and the log says why once', async () => {
  const lines: string[] = [];
  const logger = createLogger('warn', { write: (line) => lines.push(line) });
  const closed = await buildDashboard(service, { token: undefined, logger });
  const saying = lines.filter((line) => line.includes('DASHBOARD_TOKEN'));
  expect(saying).toHaveLength(1);
  for (const { method, path } of OPERATIONS_OF_DOCUMENT) {
    for (const token of [TOKEN, null, 'undefined']) {
      const { status, body, headers } = await closed.request(method, path, { token });
      expect(status).toBe(503);
      expect(body.error.code).toBe('SERVICE_UNAVAILABLE');
      expect(headers['retry-after']).toMatch(/^\d+$/);
    }
  }
  expect(lines.filter((line) => JSON.parse(line).level === 40)).toEqual(saying);
  await closed.app.close();
});

test('the log has one line for each request, with its organization and without its address, token or body', async () => {
  const lines: string[] = [];
  const logger = createLogger('info', { write: (line) => lines.push(line) });
  const logged = await buildDashboard(service, { logger });
  const agency = await service.agency();
  const id = randomUUID();
  await logged.of(agency).put(`/conversations/${id}`, { channel: 'whatsapp', contact: '+5215512345678' });
  await logged.of(agency).post('/api-keys', { name: 'secret name' });
  await logged.get('/organizations', { token: `${TOKEN}x` });
  const { id: organizationId } = agency;
  const route = '/dashboard/v1/organizations/:organizationId/conversations/:conversationId';
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { organizationId, method: 'PUT', route, status: 201 },
    { organizationId, method: 'POST', status: 201 },
    { method: 'GET', route: '/dashboard/v1/organizations', status: 401 },
  ]);
  for (const secret of [id, TOKEN, '+5215512345678', 'secret name', 'tcrm_'])
    expect(lines.join('')).not.toContain(secret);
  await logged.app.close();
});

test('organizations are created with a name, read and listed, oldest first', async () => {
  const { body } = await dashboard.post('/organizations', { name: 'Viajes Ñandú' });
  expect(body).toMatchObject({ name: 'Viajes Ñandú', closedAt: null, purgeAt: null });
  expect((await dashboard.of(body).get('')).body).toEqual(body);
  const { data, pagination } = (await dashboard.get('/organizations?limit=100')).body;
  expect([data.at(-1), pagination.total]).toEqual([body, data.length]);
  const last = await dashboard.get(`/organizations?limit=1&offset=${data.length - 1}`);
  expect(last.body.data).toEqual([body]);
  const moments = data.map(({ createdAt }: { createdAt: string }) => createdAt);
  expect(moments).toEqual(moments.toSorted());
});
