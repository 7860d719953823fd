import { readFile, writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { generatedDocuments } from './generated-documents.ts';

/** Writes the generated documents, or with --check fails if one of them is stale. */
const { values } = parseArgs({ options: { check: { type: 'boolean', default: false } } });
const stale: string[] = [];
for (const { path, render } of await generatedDocuments()) {
  const present = await readFile(path, 'utf8').catch(() => '');
  const fresh = await render(present);
  if (fresh === present) continue;
  stale.push(path);
  if (!values.check) await writeFile(path, fresh);
}
if (stale.length > 0)
  console.log(`${values.check ? 'Stale, run npm run docs' : 'Written'}: ${stale.join(', ')}`);
process.exitCode = values.check && stale.length > 0 ? 1 : 0;
