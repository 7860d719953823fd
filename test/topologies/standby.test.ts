import { randomUUID } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import { migrateDatabase } from '../../src/db/index.ts';
import { administer, asService, serviceRole } from '../support/databases.ts';
import { startProxy } from '../support/proxy.ts';
import { clientOf, openAgency, openInstance, type Send, TOKEN, temporaryFolder } from './instance.ts';
import { compare, failures } from './ledger.ts';
import { startPair } from './pair.ts';
import { startTraffic } from './traffic.ts';

/** The primary dies under load, and its synchronous standby takes over behind the same address. */

const CLIENTS = 8;

/** Creates customers with an Idempotency-Key until the signal; `settle` retries those of unknown outcome. */
async function createUntil(stop: AbortSignal, port: number, key: string) {
  const unknown: { contact: string; idempotencyKey: string; message: string }[] = [];
  let created = 0;
  const post = (contact: string, idempotencyKey: string) =>
    clientOf(port, { 'x-api-key': key, 'idempotency-key': idempotencyKey })('POST', '/v1/customers', {
      firstName: 'Ana',
      contacts: [{ identifierType: 'web', identifierValue: contact }],
    });
  while (!stop.aborted) {
    const [contact, idempotencyKey] = [`once-${randomUUID()}`, randomUUID()];
    const { status, body } = await post(contact, idempotencyKey);
    if (status === 201) created += 1;
    else unknown.push({ contact, idempotencyKey, message: body.error.message });
  }
  return {
    unknown,
    created,
    settle: () => Promise.all(unknown.map(({ contact, idempotencyKey }) => post(contact, idempotencyKey))),
  };
}

async function issueAndRevoke(send: Send, organization: string): Promise<string> {
  const path = `/dashboard/v1/organizations/${organization}/api-keys`;
  const issued = await send('POST', path, { name: 'revoked' });
  expect(issued.status).toBe(201);
  const { status } = await send('DELETE', `${path}/${issued.body.id}`);
  expect([200, 204]).toContain(status);
  return issued.body.key;
}

test('a standby that takes over has every acknowledged write, and the service recovers by itself', async () => {
  const pair = await startPair();
  await administer(pair.primaryUrl, (client) => client.query(`${serviceRole.role}; ${serviceRole.rights}`));
  await migrateDatabase(pair.primaryUrl);
  const address = await startProxy(asService(pair.primaryUrl));
  onTestFinished(address.close);
  const [agency, watched] = [await openAgency(address.url), await openAgency(address.url)];
  const instance = await openInstance({ DATABASE_URL: address.url, DATA_DIR: await temporaryFolder() });
  const { child } = instance.process();
  const dashboard = clientOf(instance.dashboardPort, { authorization: `Bearer ${TOKEN}` });
  const statusOf = async (key: string): Promise<number> =>
    (await clientOf(instance.port, { 'x-api-key': key })('GET', '/v1/team')).status;

  const traffic = startTraffic(instance.port, agency.key, CLIENTS);
  onTestFinished(traffic.stop);
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const creating = createUntil(stop.signal, instance.port, watched.key);
  await traffic.progress(200);
  const revoked = await issueAndRevoke(dashboard, agency.id);
  expect(await statusOf(revoked)).toBe(401);

  await pair.killPrimary();
  await pair.promote();
  address.lead(asService(pair.standbyUrl));
  await traffic.progress(200);
  stop.abort();
  const { unknown, created, settle } = await creating;
  await traffic.stop();

  expect(child.exitCode).toBeNull();
  expect(failures(traffic.ledger).map(([status]) => status)).toEqual([503]);
  await compare(traffic.ledger, agency, pair.standbyUrl, instance.port);
  expect(await statusOf(revoked)).toBe(401);
  expect(await statusOf(await issueAndRevoke(dashboard, agency.id))).toBe(401);

  // A retry with the same key settles an unknown outcome: the customer exists once, whether it did before or not.
  expect((await settle()).map(({ status }) => status)).toEqual(unknown.map(() => 201));
  const { rowCount } = await administer(pair.standbyUrl, (client) =>
    client.query('select from customers where organization_id = $1', [watched.id]),
  );
  expect(rowCount).toBe(created + unknown.length);
  expect(unknown.map(({ message }) => message)).toContain(
    'The request may have been applied. Retry with the same Idempotency-Key, or read before you retry.',
  );
  process.stdout.write(
    `A standby took over: ${traffic.ledger.acknowledged + created} writes acknowledged, 0 lost; ${unknown.length} of unknown outcome settled; statuses ${JSON.stringify([...traffic.ledger.statuses])}\n`,
  );
});
