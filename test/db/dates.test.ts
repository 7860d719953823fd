import { expect, inject, onTestFinished, test } from 'vitest';
import { calendarDate, timestamp } from '../../src/contract/fields.ts';
import { listConversations } from '../../src/conversations/repository.ts';
import { openDatabase } from '../../src/db/pool/client.ts';
import { scopeTo } from '../../src/db/pool/scope.ts';
import { parseJson } from '../../src/db/sql/json.ts';
import { createOrganization, getOrganization } from '../../src/organizations/repository.ts';
import { DAYS, MOMENTS } from '../support/edges.ts';
import { conversation, message } from '../support/records.ts';
import { useService } from '../support/service.ts';

const service = useService();

// A cluster's coordinator sends moments to its workers in its own style: docs/cluster.md.
const STYLES =
  inject('workerUrls').length > 0 ? ['ISO, MDY'] : ['ISO, MDY', 'SQL, DMY', 'Postgres, MDY', 'German, DMY'];

test.each(STYLES)('moments are the same when the server writes dates as %s', async (style) => {
  const options = encodeURIComponent(`-c datestyle=${style.replace(' ', '')} -c timezone=America/Bogota`);
  const db = openDatabase({
    url: `${service.url}${service.url.includes('?') ? '&' : '?'}options=${options}`,
    poolSize: 2,
    maxWaiting: 10,
    statementTimeout: 60_000,
  });
  onTestFinished(() => db.close());
  const organization = await createOrganization(db, 'Agency');
  expect(organization).toEqual(parseJson(await getOrganization(service.db, organization.id)));
  const agency = { ...(await service.agency()), scope: scopeTo(db, organization.id) };
  const { id } = await conversation(agency);
  const createdAt = '1850-06-05T12:00:00.123Z';
  expect(await message(agency, id, { createdAt })).toMatchObject({ createdAt });
  const { data } = parseJson(await listConversations(agency.scope, { limit: 1, offset: 0 }));
  expect(data).toMatchObject([{ id, lastMessageAt: createdAt }]);
});

test.each([
  ['calendarDate', calendarDate(), 'date', DAYS],
  ['moment', timestamp(), 'timestamptz', MOMENTS],
])(
  '%s takes what PostgreSQL stores and shows as it was sent, and nothing else',
  async (_name, field, type, edges) => {
    for (const value of edges.taken) {
      expect(field.parse(value)).toBe(value);
      const [row] = await service.query<{ shown: string }>(`select to_json($1::${type}) #>> '{}' as shown`, [
        value,
      ]);
      expect(Date.parse(row?.shown ?? ''), value).toBe(Date.parse(value));
    }
    for (const value of edges.refused) expect(field.safeParse(value).success, value).toBe(false);
  },
);
