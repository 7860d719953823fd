import { createCatalogProduct } from '../src/catalog/repository.ts';
import { CatalogProductCreate } from '../src/catalog/schema.ts';
import type { OrganizationScope } from '../src/db/pool/scope.ts';

/** Products whose JSON has a size of one's choice: PostgreSQL keeps a small body in its row and a large one beside the table. */

/** More than a page has, so that not all of them are read. */
const PRODUCTS = 200;
const SYLLABLES =
  'ba ca che da es fa gua ja la lu mon na no pa por que ra rre sa sol ta te tra va vi ya za'.split(' ');

/** Text that compresses as a description does, about to a half; another one for each seed. */
function text(length: number, seed: number): string {
  let state = seed;
  let written = '';
  while (written.length < length) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    written += SYLLABLES[(state >>> 16) % SYLLABLES.length];
    if (state >>> 30 === 0) written += ' ';
  }
  return written.slice(0, length);
}

/** @param bytes of the JSON of each product */
export async function createProductsOf(scope: OrganizationScope, bytes: number): Promise<void> {
  const create = (description: string) =>
    createCatalogProduct(
      scope,
      CatalogProductCreate.parse({ title: 'Patagonia', type: 'package', description }),
    );
  const spare = bytes - Buffer.byteLength(await create('x')) + 1;
  for (let made = 1; made < PRODUCTS; made += 1) await create(text(spare, made));
}
