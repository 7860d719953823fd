import { pgTable, text, uuid } from 'drizzle-orm/pg-core';
import { createdAt } from './columns.ts';

/** Travel agencies; every other record belongs to one. */
export const organizations = pgTable('organizations', {
  id: uuid().primaryKey(),
  name: text().notNull(),
  createdAt: createdAt(),
});
