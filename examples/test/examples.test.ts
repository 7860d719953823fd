import { execFile } from 'node:child_process';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import fastify from 'fastify';
import { expect, onTestFinished, test } from 'vitest';
import { startCuttingProxy } from '../../test/support/cutting-proxy.ts';
import { newFolder } from '../../test/support/folder.ts';
import { PROGRAM, startProcess } from '../../test/support/process.ts';
import { contact, conversation, customer, message, opportunity } from '../../test/support/records.ts';
import { type Agency, useService } from '../../test/support/service.ts';
import { listen } from '../../test/support/socket.ts';

const run = promisify(execFile);
const service = await useService();
const example = (name: string) => fileURLToPath(new URL(`../${name}`, import.meta.url));
const NODE = ['--conditions=travel-agency-crm-source'];
const { origin: url } = await listen(service);
const folder = await newFolder();

const environment = ({ key }: Pick<Agency, 'key'>) => ({ ...PROGRAM, CRM_URL: `${url}/`, CRM_API_KEY: key });

/** Whether this machine has the programs of an example. Without them its test is skipped, and says so. */
const has = (...programs: string[]): Promise<boolean> =>
  run('sh', ['-c', programs.map((program) => `command -v ${program}`).join(' && ')]).then(
    () => true,
    () => false,
  );

/** Starts lead-form.ts with the key; it runs until the test ends. */
async function startForm({ key }: Pick<Agency, 'key'>) {
  const app = startProcess({ CRM_URL: url, CRM_API_KEY: key, PORT: '0' }, [...NODE, example('lead-form.ts')]);
  onTestFinished(() => void app.child.kill());
  const port = () => /port: (\d+)\D/.exec(app.output())?.[1];
  await expect.poll(port).toBeDefined();
  const address = `http://127.0.0.1:${port()}`;
  const send = async (fields: Record<string, string>) => {
    const response = await fetch(address, { method: 'POST', body: new URLSearchParams(fields) });
    return { status: response.status, text: await response.text() };
  };
  return { address, output: app.output, send };
}

const LEAD = {
  name: ' Ana ',
  phone: ' +52 55 1234 5678',
  email: 'ana@example.com ',
  message: 'Patagonia en enero\n',
};
const THANKS = { status: 200, text: expect.stringContaining('Gracias') };

test('lead-form.ts creates a customer, and its response does not reveal which customers exist', async () => {
  const agency = await service.agency();
  const { address, send, output } = await startForm(agency);
  const page = await (await fetch(address)).text();
  const lead = { ...LEAD, token: String(/name="token" value="([^"]+)"/.exec(page)?.[1]) };
  const first = await send(lead);
  expect(first).toEqual(THANKS);
  expect(await send(lead)).toEqual(first);
  expect(await send({ ...lead, message: 'Mejor en marzo' })).toEqual(first);
  await expect.poll(output).toContain('Mejor en marzo');
  expect(await send({ ...lead, phone: 'none', token: 'third' })).toMatchObject({ status: 400 });
  expect(await send({ ...lead, message: 'x'.repeat(30_000) })).toMatchObject({ status: 413 });
  const stored = async () => (await agency.get('/v1/customers')).body.data;
  const ana = {
    firstName: 'Ana',
    summary: 'Patagonia en enero',
    tags: ['web'],
    contacts: [contact('whatsapp', '+525512345678'), contact('email', 'ana@example.com')],
  };
  expect(await stored()).toMatchObject([ana]);

  const [{ id }] = await stored();
  await agency.patch(`/v1/customers/${id}`, { tags: ['vip'] });
  const known = { ...lead, token: 'another', name: 'Somebody else', email: 'x@y.example' };
  expect(await send(known)).toEqual(first);
  expect(await stored()).toMatchObject([{ ...ana, tags: ['vip', 'web'] }]);
  await expect.poll(output).toContain(`id: '${id}'`);
});

test('lead-form.ts works with a create key; a lead that was not saved is told to the visitor and the log', async () => {
  const agency = await service.agency();
  const { key } = await agency.issueKey({ access: 'create' });
  const { send } = await startForm({ key });
  for (const token of ['first', 'second']) expect(await send({ ...LEAD, token })).toEqual(THANKS);
  const { data } = (await agency.get('/v1/customers')).body;
  expect(data).toMatchObject([{ firstName: 'Ana', summary: 'Patagonia en enero', tags: ['web'] }]);
  const revoked = await startForm({ key: 'revoked' });
  expect(await revoked.send(LEAD)).toMatchObject({ status: 503, text: expect.stringMatching('No pudimos') });
  await expect.poll(revoked.output).toContain('A lead was not saved: This is not a complete API key');
});

test('nightly-export.sh writes all customers as NDJSON and CSV, although connections break', async ({
  skip,
}) => {
  if (!(await has('bash', 'curl', 'jq'))) skip('curl or jq is not on this machine');
  const agency = await service.agency();
  const customers = await Promise.all(
    Array.from({ length: 101 }, (_, index) =>
      customer(agency, { firstName: `Ana, "${index}"`, tags: ['a', 'b'] }),
    ),
  );
  const proxy = await startCuttingProxy(url, 2);
  onTestFinished(proxy.close);
  // Its third export has a response of which a half arrives.
  for (let exports = 0; exports < 3; exports += 1) {
    const env = { ...environment(agency), CRM_URL: `${proxy.origin}/` };
    expect((await run(example('nightly-export.sh'), [folder], { env })).stdout).toBe('101 customers\n');
  }
  expect(proxy.cuts()).toBeGreaterThanOrEqual(3);
  const rows = (await readFile(join(folder, 'customers.ndjson'), 'utf8')).trim().split('\n');
  const byId = (a: { id: string }, b: { id: string }) => (a.id < b.id ? -1 : 1);
  expect(rows.map((row) => JSON.parse(row)).sort(byId)).toEqual(customers.sort(byId));
  const csv = (await readFile(join(folder, 'customers.csv'), 'utf8')).trim().split('\n');
  expect(csv).toHaveLength(102);
  expect(csv[1]).toMatch(/^"[\da-f-]{36}","Ana, ""\d+""",,,"web:visitor [^"]+","a \| b","20/);
  expect((await readdir(folder)).filter((name) => name.startsWith('.export'))).toEqual([]);
  // A failed export does not replace the last complete one.
  const failed = run(example('nightly-export.sh'), [folder], { env: environment({ key: 'wrong' }) });
  await expect(failed).rejects.toThrow(/401/);
  expect((await readFile(join(folder, 'customers.ndjson'), 'utf8')).trim().split('\n')).toEqual(rows);
});

test('mirror.ts copies changed customers, and removes archived ones once a day', async () => {
  const agency = await service.agency();
  const path = join(folder, 'mirror.json');
  const [one, other] = await Promise.all(Array.from({ length: 101 }, () => customer(agency)));
  const mirror = async () =>
    (await run(process.execPath, [...NODE, example('mirror.ts'), path], { env: environment(agency) })).stdout;
  expect(await mirror()).toBe('101 customers, 101 read, 0 gone\n');
  await agency.patch(`/v1/customers/${one.id}`, { city: 'Lima' });
  await agency.delete(`/v1/customers/${other.id}`);
  expect(await mirror()).toMatch(/^101 customers, \d+ read, 0 gone\n$/);
  const stored = JSON.parse(await readFile(path, 'utf8'));
  await writeFile(path, JSON.stringify({ ...stored, checkedAt: stored.checkedAt - 86_400_001 }));
  expect(await mirror()).toMatch(/^100 customers, \d+ read, 1 gone\n$/);
  const { data } = (await agency.get('/v1/customers?limit=100')).body;
  const { customers } = JSON.parse(await readFile(path, 'utf8'));
  expect(customers).toEqual(Object.fromEntries(data.map((row: { id: string }) => [row.id, row])));
});

test('catalog-sync.py makes the catalog equal to the file', async ({ skip }) => {
  if (!(await has('python3'))) skip('Python is not on this machine');
  const agency = await service.agency();
  for (const [externalReferenceCode, title, fields] of [
    ['OLD', 'Vieja', { fromPrice: 1, currency: 'USD', operator: 'Sur' }],
    ['SAME', 'Igual', { fromPrice: 2, currency: 'USD' }],
    ['GONE', 'Retirada', {}],
    ['', 'Código vacío', {}],
    [null, 'Sin código', {}],
  ] as const)
    await agency.post('/v1/catalog/products', { externalReferenceCode, title, ...fields });
  const path = join(folder, 'catalog.csv');
  const rows = 'code,title,price,currency\nNEW,"Nueva, de lujo",10.5,USD\nOLD,Vieja,,USD\nSAME,Igual,2,USD\n';
  let CRM_URL = url;
  const sync = async (...options: string[]) => {
    const env = { ...environment(agency), CRM_URL };
    return (await run('python3', [example('catalog-sync.py'), path, ...options], { env })).stdout;
  };
  const read = async () => (await agency.get('/v1/catalog/products?limit=100')).body.data;
  const before = await read();
  const prices = ['"1.450,00"', 'nan', '-5', '1_000'].map((price) => `MORE,Más,${price},USD`);
  for (const broken of [',,,', 'MORE,Más', 'NEW,Otra,1,USD', 'MORE,,1,USD', 'MORE,Más,1,US', ...prices]) {
    await writeFile(path, rows + broken);
    await expect(sync('--force')).rejects.toThrow(/line 5: .*Nothing was changed/);
  }
  await writeFile(path, rows.replace('price', 'precio'));
  await expect(sync('--force')).rejects.toThrow('has no column price. Nothing was changed');
  await writeFile(path, rows);
  await expect(sync()).rejects.toThrow('1 of 3 products would be paused. Nothing was changed');
  const moved = fastify();
  onTestFinished(() => moved.close());
  moved.all('*', (request, reply) => reply.redirect(url + request.url, 301));
  CRM_URL = await moved.listen({ port: 0 });
  await expect(sync('--force')).rejects.toThrow(`CRM_URL redirects to ${url}`);
  expect(await read()).toEqual(before);
  const proxy = await startCuttingProxy(url, 2);
  onTestFinished(proxy.close);
  CRM_URL = `${proxy.origin}/`;
  expect(await sync('--force')).toBe('1 created, 1 changed, 1 unchanged, 1 paused\n');
  expect(await read()).toMatchObject([
    { title: 'Retirada', status: 'paused' },
    { title: 'Vieja', fromPrice: null, operator: 'Sur' },
    { title: 'Nueva, de lujo', externalReferenceCode: 'NEW', fromPrice: 10.5, status: 'active' },
    { title: 'Sin código', status: before[0].status },
    { title: 'Código vacío', status: before[1].status },
    { title: 'Igual', updatedAt: before[3].updatedAt },
  ]);
  expect(await sync()).toBe('0 created, 0 changed, 3 unchanged, 0 paused\n');
});

test('catalog-sync.py waits for the first attempt of a create that is still running, and names a product that was archived meanwhile', async ({
  skip,
}) => {
  if (!(await has('python3'))) skip('Python is not on this machine');
  const path = join(folder, 'one.csv');
  await writeFile(path, 'code,title,price,currency\nOLD,Vieja,1,USD\nNEW,Nueva,10.5,USD\n');
  const keys: unknown[] = [];
  const slow = fastify();
  onTestFinished(() => slow.close());
  const data = [
    { id: 'a', externalReferenceCode: 'OLD', title: 'Otra', fromPrice: 1, currency: 'USD', status: 'active' },
  ];
  slow.get('*', async () => ({ data, pagination: { limit: 100, offset: 0, total: 1 } }));
  slow.patch('*', (_request, reply) => reply.code(404).send({}));
  slow.post('*', async ({ headers }, reply) => {
    keys.push(headers['idempotency-key']);
    if (keys.length === 1)
      reply
        .code(409)
        .header('retry-after', 0)
        .send({ error: { code: 'IDEMPOTENCY_IN_PROGRESS' } });
    else reply.code(201).send({});
  });
  const env = { ...environment({ key: 'any' }), CRM_URL: await slow.listen({ port: 0 }) };
  const { stdout, stderr } = await run('python3', [example('catalog-sync.py'), path], { env });
  expect(stdout).toBe('1 created, 1 changed, 0 unchanged, 0 paused\n');
  expect(stderr).toContain('PATCH /a: archived meanwhile');
  expect(keys).toEqual([keys[0], keys[0]]);
});

test('pipeline-agent.ts calls the tools that its model names, and prints the reply of the model', async () => {
  const agency = await service.agency();
  const ana = await customer(agency, { contacts: [contact('whatsapp', '+525512345678')] });
  const sale = { title: 'Patagonia en enero', customerId: ana.id, temperature: 'hot' };
  const { id } = await opportunity(agency, sale);
  const thread = await conversation(agency, { customerId: ana.id });
  await message(agency, thread.id, { content: '¿Tienen salidas?' });

  // A scripted model calls each of these tools once, and then replies.
  const calls: [string, object][] = [
    ['find_opportunities', { query: 'patagonia' }],
    ['read_conversations', { customerId: ana.id }],
    ['find_customer', { contact: '+52 1 55 1234 5678' }],
    ['find_stalled', { date: '2026-01-01' }],
    ['delete_everything', {}],
  ];
  const requests: { messages: { role: string; content: string }[] }[] = [];
  const model = fastify();
  model.post('*', ({ body }) => {
    const [name, parameters] = calls[requests.length] ?? [];
    requests.push(body as (typeof requests)[number]);
    const tool = { name, arguments: JSON.stringify(parameters) };
    const call = { id: `call ${name}`, type: 'function', function: tool };
    const asked = { content: null, tool_calls: [call] };
    return { choices: [{ message: { role: 'assistant', ...(name ? asked : { content: 'Call Ana.' }) } }] };
  });
  const env = { ...environment(agency), MODEL_URL: (await listen({ app: model })).origin, MODEL: 'scripted' };
  onTestFinished(() => model.close());
  const args = [...NODE, example('pipeline-agent.ts'), 'Whom to call?'];
  expect((await run(process.execPath, args, { env })).stdout).toBe('Call Ana.\n');

  const results = requests.slice(1).map(({ messages }) => JSON.parse(messages.at(-1)?.content ?? ''));
  expect(results).toMatchObject([
    { data: [{ id, customerId: ana.id, temperature: 'hot' }] },
    [{ data: [{ content: '¿Tienen salidas?' }], total: 1 }],
    [{ id: ana.id }],
    { data: [] },
    'There is no tool delete_everything.',
  ]);
});
