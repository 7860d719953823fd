import { expect, test } from 'vitest';
import { readDocument } from '../../test/support/contract.ts';
import type { CatalogProductCreate, CustomerCreate } from '../src/types.ts';

test('the shortest bodies that are valid compile', () => {
  const { schemas } = readDocument('openapi/openapi.json').components;
  // The types are the assertion: `npm run verify` compiles this.
  const product: CatalogProductCreate = { title: 'Oaxaca' };
  const customer: CustomerCreate = {
    contacts: [{ identifierType: 'email', identifierValue: 'ana@example.com' }],
  };
  expect(schemas.CatalogProductCreate?.required).toEqual(Object.keys(product));
  expect(schemas.CustomerCreate?.required).toEqual(Object.keys(customer));
});
