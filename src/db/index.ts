/** The only door: nobody outside db/ imports past it. */

export { type Database, type DatabaseOptions, openDatabase } from './pool/client.ts';
export * from './pool/errors.ts';
export * from './pool/scope.ts';
export * from './repository/clock.ts';
export * from './repository/filters.ts';
export * from './repository/idempotency.ts';
export * from './repository/list.ts';
export * from './repository/put.ts';
export * from './repository/record.ts';
export * from './server/distribute.ts';
export * from './server/embedded.ts';
export * from './server/migrate.ts';
export * from './server/readiness.ts';
export * from './sql/fields.ts';
export * from './sql/ids.ts';
export * from './sql/json.ts';
export * from './sql/query.ts';
export * from './sql/statement.ts';
export * from './tables/index.ts';
export { type Resource, recordNotFound } from './tables/resource.ts';
