import { and, arrayContains, asc, eq, inArray, isNull, type SQL } from 'drizzle-orm';
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { v7 } from 'uuid';
import { contactKey, phoneNumber, searchText } from '../../rules/contact-key.ts';
import {
  type ContactInput,
  Customer,
  CustomerCreate,
  CustomerList,
  CustomerListQuery,
  CustomerParams,
  CustomerUpdate,
} from '../../src/customers/schema.ts';
import { customerContacts, customers } from './schema.ts';
import { contains, type Database, fullName, groupBy, newest, notFound, type RouteOptions } from './shared.ts';

type CustomerRow = typeof customers.$inferSelect;
type ContactRow = typeof customerContacts.$inferSelect;

const toContact = ({ id, identifierType, identifierValue, displayName, phoneNumber }: ContactRow) =>
  ({ id, identifierType, identifierValue, displayName, phoneNumber }) as Customer['contacts'][number];

/** The fields that the contract has. */
const toCustomer = (
  { organizationId, archivedAt, contactSearch, ...customer }: CustomerRow,
  contacts: readonly ContactRow[],
) =>
  ({
    ...customer,
    preferredLanguage: customer.preferredLanguage as Customer['preferredLanguage'],
    displayName: fullName(customer.firstName, customer.lastName),
    createdAt: customer.createdAt.toISOString(),
    updatedAt: customer.updatedAt.toISOString(),
    contacts: contacts.map(toContact),
  }) as Customer;

const contactsOf = (db: Database, organizationId: string, ids: string[]): Promise<ContactRow[]> =>
  db
    .select()
    .from(customerContacts)
    .where(
      and(eq(customerContacts.organizationId, organizationId), inArray(customerContacts.customerId, ids)),
    )
    .orderBy(asc(customerContacts.position));

const newContact = ({ identifierType, identifierValue }: ContactInput, position: number) => ({
  id: v7(),
  position,
  identifierType,
  identifierValue,
  contactKey: contactKey(identifierType, identifierValue) ?? '',
  phoneNumber: phoneNumber(identifierType, identifierValue),
});

export const customerRoutes: FastifyPluginAsyncZod<RouteOptions> = async (app, { db }) => {
  const one = (organizationId: string, id: string): SQL | undefined =>
    and(eq(customers.organizationId, organizationId), eq(customers.id, id), isNull(customers.archivedAt));

  app.get(
    '/customers',
    { schema: { querystring: CustomerListQuery, response: { 200: CustomerList } } },
    async ({ organizationId, query }) => {
      const { limit, offset } = query;
      const where = and(
        eq(customers.organizationId, organizationId),
        isNull(customers.archivedAt),
        query.query ? contains(customers, query.query) : undefined,
        query.tag ? arrayContains(customers.tags, [query.tag]) : undefined,
      );
      const [rows, total] = await Promise.all([
        db
          .select()
          .from(customers)
          .where(where)
          .orderBy(newest(customers.updatedAt), newest(customers.id))
          .limit(limit)
          .offset(offset),
        db.$count(customers, where),
      ]);
      const contacts = groupBy(
        await contactsOf(
          db,
          organizationId,
          rows.map(({ id }) => id),
        ),
        ({ customerId }) => customerId,
      );
      return {
        data: rows.map((row) => toCustomer(row, contacts.get(row.id) ?? [])),
        pagination: { limit, offset, total },
      };
    },
  );

  app.get(
    '/customers/:customerId',
    { schema: { params: CustomerParams, response: { 200: Customer } } },
    async ({ organizationId, params }) => {
      const [[row], contacts] = await Promise.all([
        db.select().from(customers).where(one(organizationId, params.customerId)),
        contactsOf(db, organizationId, [params.customerId]),
      ]);
      if (!row) throw notFound('customer');
      return toCustomer(row, contacts);
    },
  );

  app.post(
    '/customers',
    { schema: { body: CustomerCreate, response: { 201: Customer } } },
    async ({ organizationId, body }, reply) => {
      const { contacts: inputs, ...details } = body;
      const contacts = inputs.map(newContact);
      const created = await db.transaction(async (tx) => {
        const [row] = await tx
          .insert(customers)
          .values({
            ...details,
            contactSearch: contacts.map(searchText).join('\u001f'),
            organizationId,
            id: v7(),
          })
          .returning();
        if (!row) throw new Error('no row');
        const children = await tx
          .insert(customerContacts)
          .values(contacts.map((contact) => ({ ...contact, organizationId, customerId: row.id })))
          .returning();
        return toCustomer(row, children);
      });
      return reply.code(201).send(created);
    },
  );

  app.patch(
    '/customers/:customerId',
    { schema: { params: CustomerParams, body: CustomerUpdate, response: { 200: Customer } } },
    async ({ organizationId, params, body }) => {
      const { contacts: _replaced, ...changes } = body;
      const [row] = await db
        .update(customers)
        .set({ ...changes, updatedAt: new Date() })
        .where(one(organizationId, params.customerId))
        .returning();
      if (!row) throw notFound('customer');
      return toCustomer(row, await contactsOf(db, organizationId, [row.id]));
    },
  );
};
