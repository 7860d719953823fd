import { randomUUID } from 'node:crypto';
import { getTableName } from 'drizzle-orm';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  declaredCodes,
  emptyOf,
  exampleOf,
  operationsOf,
  readDocument,
  type Schema,
} from '../support/contract.ts';
import { type Caller, useDashboard } from '../support/dashboard.ts';
import {
  BELOW,
  FILE,
  type Has,
  LISTS,
  OPERATIONS,
  operationsBy,
  type Put,
  pathOf,
  populate,
} from '../support/operations.ts';
import type { Fields } from '../support/records.ts';
import type { Agency } from '../support/service.ts';

const { service, dashboard } = useDashboard();

const document = readDocument('openapi/dashboard.json');
const documented = operationsOf(document);
const { schemas } = document.components;
/** Their store depends on their conversation: test/conversations.test.ts. */
const MESSAGES = `PUT ${BELOW}/conversations/{conversationId}/messages/{messageId}`;

type Kind = {
  path: string;
  /** Says where to look when an answer is another one. */
  compare: (...parts: (keyof Put)[]) => string;
  table: string;
  /** How a DELETE says that the record is missing, where there is a DELETE. */
  missing: string | undefined;
  /** What /v1 counts, where it counts. */
  counted: string | undefined;
  minimal: (has: Has) => Fields;
  full: (has: Has) => Fields;
  /** The same for GET. */
  notFound: string | undefined;
  /** A field that takes any text. */
  text: string;
  /** The optional fields that null clears. */
  nullable: string[];
  /** The answers to both, without their ids. */
  ofMinimal: (has: Has) => Fields;
  ofFull: (has: Has) => Fields;
};

/** Only the names of fields are of interest. */
const NAMES = {} as Has;

const nameOf = (media: { schema: Schema } | undefined): string =>
  String(media?.schema.$ref).replace(/.*\//, '');

/** What a record shows of fields that nobody sent. */
function unsent(answer: string): Fields {
  const moments = ['createdAt', 'updatedAt'].filter((field) => field in (schemas[answer]?.properties ?? {}));
  return { ...emptyOf(answer), ...Object.fromEntries(moments.map((field) => [field, expect.any(String)])) };
}

const kindOf = (name: string, { table, minimal, defaults, derived, ...put }: Put): Kind => {
  const path = pathOf(name);
  const operationOf = (method: string) =>
    documented.find((each) => each.path === path && each.method === method)?.operation;
  const [archive, read, written] = [operationOf('DELETE'), operationOf('GET'), operationOf('PUT')];
  const list = Object.keys(LISTS).find((each) => {
    const { resource } = LISTS[each] ?? {};
    return resource?.isCounted && getTableName(resource.table) === table;
  });
  const answer = nameOf(written?.responses[201]?.content?.['application/json']);
  const fields = Object.keys(
    schemas[nameOf(written?.requestBody?.content['application/json'])]?.properties ?? {},
  );
  const examples = exampleOf({ $ref: answer }, schemas) as Fields;
  /** A field that the table does not name has the example of the document. */
  const full = (has: Has): Fields => {
    const named = { ...put.full(has), ...derived?.(has) };
    const others = fields.filter((field) => !(field in named)).map((field) => [field, examples[field]]);
    return { ...Object.fromEntries(others), ...put.full(has) };
  };
  return {
    path: path.replace(BELOW, '').replace(/\/[^/]+$/, ''),
    compare: (...parts) => `Compare with ${parts.join(' and ')} of OPERATIONS['${name}'].put in ${FILE}`,
    table,
    missing: archive && declaredCodes(archive, 404).find((code) => code !== 'ORGANIZATION_NOT_FOUND'),
    notFound: read && declaredCodes(read, 404).find((code) => code !== 'ORGANIZATION_NOT_FOUND'),
    text: ['title', 'name', 'contactName'].find((field) => field in full(NAMES)) ?? '',
    nullable: fields.filter((field) => unsent(answer)[field] === null && field in full(NAMES)),
    counted: list && pathOf(list),
    minimal,
    full,
    ofMinimal: (has) => ({ ...unsent(answer), ...minimal(has), ...defaults?.(has) }),
    ofFull: (has) => ({ ...unsent(answer), ...full(has), ...derived?.(has) }),
  };
};

const KINDS = operationsBy('PUT').flatMap((name) => {
  const { put } = OPERATIONS[name] ?? {};
  return put ? [kindOf(name, put)] : [];
});

test('every PUT is here', () => {
  const without = operationsBy('PUT').filter((name) => !OPERATIONS[name]?.put);
  expect(without, `Write \`put\` into their entries in OPERATIONS of ${FILE}`).toEqual([MESSAGES]);
});

/** Every test makes a record of its own in it. */
let agency: Agency;
let neighbour: Agency;
let has: Has;
let theirs: Has;
let call: Caller;
beforeAll(async () => {
  [agency, neighbour] = [await service.agency(), await service.agency()];
  [has, theirs] = [await populate({ service, agency }), await populate({ service, agency: neighbour })];
  call = dashboard.of(agency);
});

/** A key of a pipeline stage is written once, and no two stages have the same. */
beforeEach(() => {
  [has, theirs] = [
    { ...has, stageKey: randomUUID() },
    { ...theirs, stageKey: randomUUID() },
  ];
});

const rowOf = async (kind: Kind, agency: Agency, id: string): Promise<Record<string, unknown>> => {
  const [row] = await service.query<{ row: Record<string, unknown> }>(
    `select to_jsonb(t) as row from ${kind.table} t where organization_id = $1 and id = $2`,
    [agency.id, id],
  );
  if (!row) throw new Error(`No row of ${kind.table} has the id.`);
  return row.row;
};

const total = async (kind: Kind, agency: Agency): Promise<number> =>
  (await agency.get(`${kind.counted}?limit=1`)).body.pagination.total;

describe.each(KINDS)('PUT $path', (kind) => {
  test('creates with 201, left-out fields at their defaults, and leaves a neighbour as it was', async () => {
    const before = await dashboard.stored(neighbour);
    const id = randomUUID();

    const { status, body } = await call.put(`${kind.path}/${id}`, kind.minimal(has));
    expect(status, kind.compare('minimal')).toBe(201);
    expect(body, kind.compare('minimal', 'defaults')).toEqual({ id, ...kind.ofMinimal(has) });
    expect(await rowOf(kind, agency, id)).toMatchObject({ id, organization_id: agency.id });
    expect(await dashboard.stored(neighbour)).toEqual(before);
  });

  test('answers what was sent, beside what is derived from it', async () => {
    const id = randomUUID();
    const { status, body } = await call.put(`${kind.path}/${id}`, kind.full(has));
    expect(status, kind.compare('full')).toBe(201);
    expect(body, kind.compare('full', 'derived')).toEqual({ id, ...kind.ofFull(has) });
  });

  test('the same again changes nothing, the stored updated_at included', async () => {
    const id = randomUUID();
    const first = await call.put(`${kind.path}/${id}`, kind.full(has));
    const stored = await dashboard.stored(agency);
    const second = await call.put(`${kind.path}/${id}`, kind.full(has));
    expect(second.status).toBe(200);
    expect(second.body).toEqual(first.body);
    expect(await dashboard.stored(agency)).toEqual(stored);
  });

  test('replaces: what is left out goes back to its default, and updated_at grows', async () => {
    const id = randomUUID();
    await call.put(`${kind.path}/${id}`, kind.full(has));
    const before = await rowOf(kind, agency, id);
    const { status, body } = await call.put(`${kind.path}/${id}`, kind.minimal(has));
    expect(status).toBe(200);
    expect(body, kind.compare('minimal', 'defaults')).toEqual({ id, ...kind.ofMinimal(has) });
    const after = await rowOf(kind, agency, id);
    expect(after.created_at).toBe(before.created_at);
    expect(Date.parse(String(after.updated_at))).toBeGreaterThan(Date.parse(String(before.updated_at)));
  });

  test('of 20 simultaneous ones exactly one creates, and one whole body is what stays', async () => {
    const id = randomUUID();
    const counted = kind.counted ? await total(kind, agency) : 0;
    const bodies = [kind.minimal(has), kind.full(has)];
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => call.put(`${kind.path}/${id}`, bodies[index % 2])),
    );
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(19);
    const outcomes = [
      { id, ...kind.ofMinimal(has) },
      { id, ...kind.ofFull(has) },
    ];
    for (const { body } of answers)
      expect(outcomes, kind.compare('minimal', 'defaults', 'full', 'derived')).toContainEqual(body);
    const rows = await service.query(`select 1 from ${kind.table} where organization_id = $1 and id = $2`, [
      agency.id,
      id,
    ]);
    expect(rows).toHaveLength(1);
    if (kind.counted) expect(await total(kind, agency)).toBe(counted + 1);
  });

  test('of 20 identical simultaneous ones exactly one creates and none touches the record after it', async () => {
    const id = randomUUID();
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => call.put(`${kind.path}/${id}`, kind.full(has))),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array(19).fill(200), 201]);
    for (const { body } of answers) expect(body).toEqual(answers[0]?.body);
  });
});

describe.each(KINDS)('GET and PATCH $path', (kind) => {
  const made = async () => {
    const path = `${kind.path}/${randomUUID()}`;
    const { body } = await call.put(path, kind.minimal(has));
    return { path, body };
  };
  const shown = async (path: string) => (await call.get(path)).body;

  test('GET answers what the PUT answered, and the list has it', async () => {
    const { path, body } = await made();
    const { status, body: one } = await call.get(path);
    expect([status, one]).toEqual([200, body]);
    const { body: page } = await call.get(`${kind.path}?limit=100`);
    expect(page.data).toContainEqual(body);
    expect(page.pagination).toMatchObject({ limit: 100, offset: 0 });
  });

  test('PATCH changes the fields that are sent, one after the other, and no other', async () => {
    const { path, body } = await made();
    const [full, shownAs] = [kind.full(has), kind.ofFull(has)];
    // Of two that are shown as one, the other may show through.
    const independent = Object.keys(full).filter((field) => full[field] === shownAs[field]);
    let expected: Fields = body;
    for (const [field, value] of Object.entries(full)) {
      const { status, body: answer, headers } = await call.patch(path, { [field]: value });
      expect(status, field).toBe(200);
      const read = await call.get(path);
      expect([read.body, read.headers.etag]).toEqual([answer, headers.etag]);
      for (const other of independent) if (other !== field) expect(answer[other]).toEqual(expected[other]);
      expected = answer;
    }
    expect(expected).toEqual({ ...shownAs, id: body.id });
  });

  test('null clears a field', async () => {
    const path = `${kind.path}/${randomUUID()}`;
    await call.put(path, kind.full(has));
    const { status, body } = await call.patch(
      path,
      Object.fromEntries(kind.nullable.map((field) => [field, null])),
    );
    expect(status).toBe(200);
    for (const field of kind.nullable) expect(body[field], field).toBe(null);
    expect(await shown(path)).toEqual(body);
  });

  test('nothing, and values that it has, change nothing: updated_at neither', async () => {
    const { path } = await made();
    const stored = await dashboard.stored(agency);
    for (const body of [{}, kind.minimal(has)]) expect((await call.patch(path, body)).status).toBe(200);
    expect(await dashboard.stored(agency)).toEqual(stored);
  });

  test('what was read can be sent back, also under strict handling', async () => {
    const path = `${kind.path}/${randomUUID()}`;
    await call.put(path, kind.full(has));
    const stored = await dashboard.stored(agency);
    const read = await shown(path);
    const { status, body } = await call.patch(path, read, { headers: { prefer: 'handling=strict' } });
    expect([status, body]).toEqual([200, read]);
    expect(await dashboard.stored(agency)).toEqual(stored);
  });
});

describe.each(KINDS.filter(({ missing }) => missing))('DELETE $path', (kind) => {
  test('archives once; a PUT brings the record back, and the count of /v1 follows', async () => {
    const untouched = await dashboard.stored(neighbour);
    const id = randomUUID();
    const created = await call.put(`${kind.path}/${id}`, kind.full(has));
    const counted = kind.counted ? await total(kind, agency) : 0;

    const { status, body } = await call.delete(`${kind.path}/${id}`);
    expect(status).toBe(200);
    expect(body).toEqual({ id, archivedAt: expect.any(String) });
    expect(Date.parse(String((await rowOf(kind, agency, id)).archived_at))).toBe(Date.parse(body.archivedAt));
    if (kind.counted) expect(await total(kind, agency)).toBe(counted - 1);

    const again = await call.delete(`${kind.path}/${id}`);
    expect(again.status).toBe(404);
    expect(again.body.error.code).toBe(kind.missing);

    const back = await call.put(`${kind.path}/${id}`, kind.full(has));
    expect(back.status).toBe(200);
    expect(back.body).toEqual({
      ...created.body,
      ...('updatedAt' in created.body && { updatedAt: expect.any(String) }),
    });
    expect((await rowOf(kind, agency, id)).archived_at).toBe(null);
    if (kind.counted) expect(await total(kind, agency)).toBe(counted);
    expect(await dashboard.stored(neighbour)).toEqual(untouched);
  });

  test('racing PUTs leave one state and a true count', async () => {
    const id = randomUUID();
    await call.put(`${kind.path}/${id}`, kind.full(has));
    const counted = kind.counted ? await total(kind, agency) : 0;
    await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        index % 2
          ? call.delete(`${kind.path}/${id}`)
          : call.put(`${kind.path}/${id}`, { ...kind.full(has), name: `n${index}`, title: `t${index}` }),
      ),
    );
    const { archived_at } = await rowOf(kind, agency, id);
    if (kind.counted) expect(await total(kind, agency)).toBe(archived_at === null ? counted : counted - 1);
    expect((await call.delete(`${kind.path}/${id}`)).status).toBe(archived_at === null ? 200 : 404);
  });
});

test('a conversation cannot be deleted', async () => {
  const { status, body } = await call.delete(`/conversations/${randomUUID()}`);
  expect(status).toBe(404);
  expect(body.error.code).toBe('ROUTE_NOT_FOUND');
});
