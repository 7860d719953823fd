import { setTimeout as pause } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { quote } from '../support/records.ts';
import { useService } from '../support/service.ts';
import { clientOf, openInstance, TOKEN, temporaryFolder } from './instance.ts';
import { compare, failures } from './ledger.ts';
import { startTraffic } from './traffic.ts';

const service = useService();

const KILLS = 10;
const SIZE = 2 * 1024 * 1024;

/** The name again and again, so that a part of the file is not equal to the file. */
const contentOf = (name: string): string => ''.padEnd(SIZE, `${name}\n`);

function formOf(name: string): FormData {
  const form = new FormData();
  form.set('kind', 'itinerary');
  form.set('file', new File([contentOf(name)], name));
  return form;
}

test(`${KILLS} SIGKILLs of the service lose no acknowledged write and no acknowledged file, and leave no partial file`, async () => {
  const agency = await service.agency();
  const { id: quoteId } = await quote(agency);
  const instance = await openInstance({ DATABASE_URL: service.url, DATA_DIR: await temporaryFolder() });
  const dashboard = clientOf(instance.dashboardPort, { authorization: `Bearer ${TOKEN}` });
  const path = `/dashboard/v1/organizations/${agency.id}/quotes/${quoteId}/attachments`;

  const traffic = startTraffic(instance.port, agency.key, 4);
  onTestFinished(traffic.stop);
  const stop = new AbortController();
  const acknowledged = new Set<string>();
  let failed = 0;
  const uploading = [1, 2, 3].map(async (client) => {
    for (let index = 0; !stop.signal.aborted; index += 1) {
      const name = `file-${client}-${index}`;
      const { status } = await dashboard('POST', path, formOf(name));
      if (status === 201) acknowledged.add(name);
      else {
        failed += 1;
        await pause(20);
      }
    }
  });
  const uploads = () => acknowledged.size;

  for (let count = 0; count < KILLS; count += 1) {
    await traffic.progress(30);
    await expect.poll(uploads, { timeout: 120_000, interval: 7 }).toBeGreaterThanOrEqual(3 * (count + 1));
    await instance.kill();
    await instance.start();
  }
  await traffic.progress(30);
  stop.abort();
  await Promise.all(uploading);
  await traffic.stop();

  expect(failures(traffic.ledger).map(([status]) => status)).toEqual([0]);
  expect(failed).toBeGreaterThan(0);
  await compare(traffic.ledger, agency, service.ownerUrl, instance.port);

  const client = clientOf(instance.port, { 'x-api-key': agency.key });
  const listed = await client('GET', `/v1/quotes/${quoteId}/attachments`);
  const { data }: { data: { url: string; fileName: string }[] } = listed.body;
  const names = new Set(data.map(({ fileName }) => fileName));
  expect([...acknowledged].filter((name) => !names.has(name))).toEqual([]);
  expect(names.size).toBe(data.length);
  for (const { url, fileName } of data) {
    const { pathname, search } = new URL(url);
    const file = await fetch(`http://127.0.0.1:${instance.port}${pathname}${search}`);
    expect(file.status).toBe(200);
    expect((await file.text()) === contentOf(fileName), fileName).toBe(true);
  }
  process.stdout.write(
    `${KILLS} SIGKILLs of the service: ${traffic.ledger.acknowledged} writes and ${uploads()} files acknowledged, 0 lost; ${failed} uploads failed\n`,
  );
});
