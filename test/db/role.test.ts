import { expect, test } from 'vitest';
import { administer } from '../support/databases.ts';
import { useService } from '../support/service.ts';

/** The tests of the suite run as this role, so its rights suffice for the service. */

const service = useService();

test('the service runs as the role of deploy/service-role.sql, which owns nothing', async () => {
  const { rows } = await administer(service.url, (client) =>
    client.query(
      `select rolname as name, rolsuper or rolcreaterole or rolcreatedb or rolbypassrls as privileged,
          (select count(*)::int from pg_class where relowner = r.oid) as owned
        from pg_roles r where rolname = current_user`,
    ),
  );
  expect(rows).toEqual([{ name: 'crm_service', privileged: false, owned: 0 }]);
});

test.each([
  'truncate customers',
  'create table planted (id int)',
  'create schema planted',
  'alter table customers disable trigger all',
  'drop table quotes',
  'drop extension unaccent',
  'insert into drizzle.__drizzle_migrations (hash, created_at) values (1, 1)',
  'delete from drizzle.__drizzle_migrations',
])('it cannot %s', async (statement) => {
  const result = administer(service.url, (client) => client.query(statement));
  await expect(result).rejects.toMatchObject({ code: '42501' });
});
