import { once } from 'node:events';
import { createReadStream, createWriteStream } from 'node:fs';
import { createInterface } from 'node:readline';

/** What a person would write in place of the command crm: a file to requests, and pages to a file, with fetch alone. */

/** The loop: a line of the file becomes a request, and nothing else is done. */
async function importLoop(file: string, atOnce: number): Promise<void> {
  const lines = createInterface({ input: createReadStream(file), crlfDelay: Number.POSITIVE_INFINITY });
  const iterator = lines[Symbol.asyncIterator]();
  await iterator.next();
  const worker = async (): Promise<void> => {
    for (let next = await iterator.next(); !next.done; next = await iterator.next()) {
      const [firstName, lastName, whatsapp, email, city] = next.value.split(',');
      const contacts = [
        { identifierType: 'whatsapp', identifierValue: whatsapp },
        { identifierType: 'email', identifierValue: email },
      ];
      const response = await fetch(`${process.env.CRM_URL}/v1/customers`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${process.env.CRM_API_KEY}`,
          'content-type': 'application/json',
        },
        body: JSON.stringify({ firstName, lastName, city, contacts }),
      });
      if (response.status !== 201) throw new Error(await response.text());
      await response.arrayBuffer();
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

async function exportLoop(file: string): Promise<void> {
  const output = createWriteStream(file);
  for (let offset = 0, total = 1; offset < total; offset += 100) {
    const response = await fetch(`${process.env.CRM_URL}/v1/customers?limit=100&offset=${offset}`, {
      headers: { authorization: `Bearer ${process.env.CRM_API_KEY}` },
    });
    const page = (await response.json()) as { data: object[]; pagination: { total: number } };
    total = page.pagination.total;
    for (const customer of page.data) output.write(`${JSON.stringify(customer)}\n`);
  }
  output.end();
  await once(output, 'finish');
}

const [what, file = '', atOnce = '1'] = process.argv.slice(2);
if (what === 'import') await importLoop(file, Number(atOnce));
else await exportLoop(file);
