/** What a repository is written with, beside its tables. */

export { inTransaction, type OrganizationScope, type Queries } from '../pool/scope.ts';
export * from '../sql/field-columns.ts';
export * from '../sql/ids.ts';
export * from '../sql/json.ts';
export * from '../sql/row.ts';
export * from '../sql/statement.ts';
export * from './archive.ts';
export * from './get.ts';
export * from './list.ts';
export * from './put.ts';
export * from './view.ts';
export * from './write.ts';
