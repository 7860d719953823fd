import { readFile, writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { promisesOf } from './breaking-changes.ts';
import { generatedDocuments } from './generated-documents.ts';

/**
 * Writes the generated documents, or with --check fails if one of them is stale. With --release, it stores the current
 * promises of the document, with which `npm run verify` compares later changes.
 */
const { values } = parseArgs({
  options: { check: { type: 'boolean', default: false }, release: { type: 'boolean', default: false } },
});
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
if (values.release) {
  const document = JSON.parse(await readFile('openapi/openapi.json', 'utf8'));
  await writeFile('openapi/released.json', promisesOf(document));
}
