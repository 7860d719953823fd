import { randomUUID } from 'node:crypto';
import { afterEach, expect, test } from 'vitest';
import { declaredCodes, operationOf } from '../support/contract.ts';
import { useDashboard } from '../support/dashboard.ts';
import {
  type Has,
  OPERATIONS,
  operationsBy,
  pathOf,
  populate,
  requestOf,
  run,
  send,
  type World,
} from '../support/operations.ts';

/** Every operation with ids of another organization and of archived records. */

const { service, dashboard } = await useDashboard();

const UNKNOWN = '01936f5e-7c3a-7d2b-9a41-5f0c8e6b2d17';

const newWorld = async (name?: string): Promise<World> => ({
  service,
  dashboard,
  agency: await service.agency(name),
});
/** Twins creates records with the ids of theirs. */
const [mine, theirs, twins] = [await newWorld(), await newWorld(), await newWorld()];
const ids = { mine: await populate(mine), theirs: await populate(theirs), twins: await populate(twins) };
const archivedIds = await populate(mine, 'Oaxaca', 1);
/** One for each kind of record: both APIs archive products and customers. */
const ARCHIVES = [
  ...new Map(
    operationsBy('DELETE')
      .filter((name) => !/\{(organization|apiKey|attachment)Id\}$/.test(name))
      .map((name) => [name.replace(/.*\//, ''), name]),
  ).values(),
];
for (const name of ARCHIVES) await run(mine, name, archivedIds);
/** Every row of two organizations, some in each table. No test may change one. */
const stored = () => Promise.all([mine, theirs].map(({ agency }) => dashboard.stored(agency)));
const before = await stored();
afterEach(async () => {
  expect(await stored()).toEqual(before);
});

/** Every id in the path of an operation, except that of the organization. */
const IDS = Object.keys(OPERATIONS).flatMap((name) =>
  [...pathOf(name).matchAll(/\{(\w+)\}/g)]
    .map(([, idName]) => ({ name, idName: idName as keyof Has }))
    .filter(({ idName }) => idName !== 'organizationId'),
);
const STRANGE = ['0', '-1', 'null', "'", '%00', '%F0%9F%8C%8B', 'x'.repeat(7_000)];

/** Operations that accept the id of an archived record. */
const OF_ARCHIVED = /^PUT |\/(restore|export|erase)$|^GET \/dashboard.*Id\}$/;

test.each(IDS)(
  'the $idName of another organization, or of an archived record, is not found by $name, as if it did not exist',
  async ({ name, idName }) => {
    const theirId = { ...ids.theirs, ...OPERATIONS[name]?.ids?.(ids.theirs) }[idName];
    const isArchived = ARCHIVES.some((each) => each.endsWith(`{${idName}}`)) && !OF_ARCHIVED.test(name);
    // A PUT may create a record with the id of another organization's record.
    const isCreated = name.startsWith('PUT') && name.endsWith(`{${idName}}`);
    const own = isCreated ? { ...ids.twins, stageKey: randomUUID() } : ids.mine;
    const request = async (id: string, more: object = {}) =>
      send(isCreated ? twins : mine, { ...(await requestOf(name, own, { [idName]: id })), ...more });
    const operation = operationOf(name);
    const { schema } = operation.parameters?.find((parameter) => parameter.name === idName) ?? {};
    const unknown = isCreated ? undefined : await request(UNKNOWN);
    if (unknown) expect(declaredCodes(operation, 404)).toContain(unknown.body.error.code);
    else expect((await request(theirId)).status).toBe(201);
    for (const id of unknown ? [theirId, ...(isArchived ? [archivedIds[idName]] : [])] : [])
      for (const more of name.startsWith('PATCH') ? [{}, { body: {} }] : [{}]) {
        const { status, text, headers } = await request(id, more);
        expect([status, text.replaceAll(id, UNKNOWN)]).toEqual([404, unknown?.text]);
        expect(Object.keys(headers).sort()).toEqual(Object.keys(unknown?.headers ?? {}).sort());
      }
    for (const id of isCreated ? STRANGE : [UNKNOWN.toUpperCase(), ...STRANGE]) {
      const { status, body } = await request(id);
      const invalidId = [400, [{ path: `params.${idName}`, message: 'must be a UUID' }]];
      if (schema?.format === 'uuid' && id !== UNKNOWN.toUpperCase())
        expect([status, body.error.details], id).toEqual(invalidId);
      else expect([status, body.error.code], id).toEqual([404, unknown?.body.error.code]);
    }
  },
);
