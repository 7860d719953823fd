import { expect, inject, onTestFinished, test } from 'vitest';
import { administer, createTestDatabase } from '../support/databases.ts';
import { boundMemory } from './bounded.ts';
import { openAgency, openInstance, TOKEN, temporaryFolder } from './instance.ts';

const LIMIT_MIB = 512;
const EXPORTS = 4;

test(`${EXPORTS} exports at once of a person with 500 messages of the greatest length need less than ${LIMIT_MIB} MiB`, async () => {
  const database = await createTestDatabase(inject('serverUrl'));
  onTestFinished(database.drop);
  const { id } = await openAgency(database.url);
  await administer(database.ownerUrl, async (client) => {
    const person = '01936f5e-0000-7000-8000-000000000001';
    await client.query('insert into customers (organization_id, id) values ($1, $2)', [id, person]);
    await client.query(
      `insert into conversations (organization_id, id, chain_id, customer_id, channel, contact) values ($1, $2, $2, $2, 'web', 'a')`,
      [id, person],
    );
    // One character beyond Latin-1 doubles a JavaScript text; a control character is six in JSON.
    await client.query(
      `insert into channel_messages (organization_id, conversation_id, id, arrival, content, direction, message_type)
       select $1, $2, gen_random_uuid(), number, '€' || repeat(chr(1), 65535), 'inbound', 'text' from generate_series(1, 500) number`,
      [id, person],
    );
  });
  const memory = await boundMemory(LIMIT_MIB * 1024 * 1024);
  const environment = { DATABASE_URL: database.url, DATA_DIR: await temporaryFolder() };
  const { dashboardPort, process: instance } = await openInstance(environment, memory.start);
  const url = `http://127.0.0.1:${dashboardPort}/dashboard/v1/organizations/${id}/customers/01936f5e-0000-7000-8000-000000000001/export`;
  const lengthOf = async (): Promise<number> => {
    const { body } = await fetch(url, { headers: { authorization: `Bearer ${TOKEN}` } });
    let length = 0;
    for await (const chunk of body ?? []) length += chunk.length;
    return length;
  };
  const lengths = await Promise.all(Array.from({ length: EXPORTS }, lengthOf));
  const peak = await memory.peak();
  process.stdout.write(`| ${EXPORTS} exports of ${lengths[0]} bytes | ${peak} MiB |\n`);
  expect(instance().child.exitCode ?? instance().child.signalCode).toBe(null);
  for (const length of lengths) expect(length).toBeGreaterThan(500 * 65_535 * 6);
  expect(peak).toBeLessThan(LIMIT_MIB);
});
