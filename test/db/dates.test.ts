import { expect, inject, test } from 'vitest';
import { listConversations } from '../../src/conversations/repository.ts';
import { parseJson, scopeTo } from '../../src/db/index.ts';
import { createOrganization, getOrganization } from '../../src/organizations/repository.ts';
import { poolWith } from '../support/instance.ts';
import { conversation, message } from '../support/records.ts';
import { useService } from '../support/service.ts';

const service = await useService();

// A cluster's coordinator sends timestamps to its workers in its own style: docs/cluster.md.
const STYLES =
  inject('workerUrls').length > 0 ? ['ISO, MDY'] : ['ISO, MDY', 'SQL, DMY', 'Postgres, MDY', 'German, DMY'];

test.each(STYLES)('timestamps are the same when the server writes dates as %s', async (style) => {
  const db = poolWith(service, `datestyle=${style.replace(' ', '')}`, 'timezone=America/Bogota');
  const organization = await createOrganization(db, 'Agency');
  expect(organization).toEqual(parseJson(await getOrganization(service.db, organization.id)));
  const agency = { ...(await service.agency()), scope: scopeTo(db, organization.id) };
  const { id } = await conversation(agency);
  const createdAt = '1850-06-05T12:00:00.123Z';
  expect(await message(agency, id, { createdAt })).toMatchObject({ createdAt });
  const { data } = parseJson(await listConversations(agency.scope, { limit: 1, offset: 0 }));
  expect(data).toMatchObject([{ id, lastMessageAt: createdAt }]);
});
