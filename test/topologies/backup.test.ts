import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { migrateDatabase } from '../../src/db/index.ts';
import { administer, asService, withDatabase } from '../support/databases.ts';
import { documentAt } from '../support/documents.ts';
import { openAgency, temporaryFolder } from './instance.ts';
import { startPair } from './pair.ts';

/** The blocks of docs/operating.md, by psql, pg_dump and pg_restore. */

const MANUAL = documentAt('docs/operating.md');
const blockOf = (name: string): string => MANUAL.split(`\n\`\`\`sh ${name}\n`)[1]?.split('```')[0] ?? '';
const [, DB = ''] = /^(db\(\) \{ "\$@".*)$/m.exec(MANUAL) ?? [];
const COMPARE = readFileSync(new URL('../../deploy/compare.sql', import.meta.url), 'utf8');

test('a backup is restored over its own database and into an empty one, and the role of the service works there', async () => {
  const { primaryUrl } = await startPair();
  const folder = await temporaryFolder();
  const run = (script: string, OWNER_URL: string) =>
    promisify(execFile)('bash', ['-euc', `${DB}\n${script.replace('deploy/', `${process.cwd()}/deploy/`)}`], {
      cwd: folder,
      env: { PATH: process.env.PATH, OWNER_URL, SERVICE_PASSWORD: 'crm_service' },
    });
  const urlOf = (name: string) => withDatabase(primaryUrl, name);
  await administer(primaryUrl, async (client) => {
    for (const name of ['used', 'blank']) await client.query(`create database ${name}`);
  });
  await run(blockOf('restore').split('\n')[0] ?? '', urlOf('used'));
  await migrateDatabase(urlOf('used'));
  const { id } = await openAgency(asService(urlOf('used')));
  await run(blockOf('backup'), urlOf('used'));
  await openAgency(asService(urlOf('used')));

  for (const name of ['used', 'blank']) {
    await run(blockOf('restore'), urlOf(name));
    await administer(asService(urlOf(name)), async (client) => {
      expect((await client.query('select id from organizations')).rows).toEqual([{ id }]);
      expect((await client.query(COMPARE)).rows).toEqual([]);
      await client.query(`update organizations set name = 'Renamed'`);
      await expect(client.query('truncate organizations')).rejects.toThrow('permission denied');
    });
    // No migration is pending, so the role of the service can start it.
    await migrateDatabase(asService(urlOf(name)));
  }
});
