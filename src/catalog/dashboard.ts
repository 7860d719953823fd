import { recordView } from '../http/record-routes.ts';
import { catalogProductRecord } from './repository.ts';
import {
  ArchivedCatalogProduct,
  CatalogProductRecord,
  CatalogProductRecordCreate,
  CatalogProductRecordListQuery,
  CatalogProductRecordUpdate,
} from './schema.ts';

export const catalogRecords = recordView({
  schemas: {
    record: CatalogProductRecord,
    query: CatalogProductRecordListQuery,
    create: CatalogProductRecordCreate,
    patch: CatalogProductRecordUpdate,
    archived: ArchivedCatalogProduct,
  },
  functions: catalogProductRecord,
  descriptions: {
    update: '`variants` replaces the whole list: one save of an editor is one request.',
    restore: 'Possible until `purgeAt`, 30 days after it was archived.',
  },
});
