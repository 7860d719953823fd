import { expect, test } from 'vitest';
import { administer } from '../support/databases.ts';
import { useService } from '../support/service.ts';

/** All tests of the suite work as this role: what it may do is enough for everything that the service does. */

const service = useService();

test('the role that the service works as is the one that operators make, and owns nothing', async () => {
  const role = await administer(service.url, (client) =>
    client.query(
      `select rolname as name, rolsuper or rolcreaterole or rolcreatedb or rolbypassrls as mighty,
          (select count(*)::int from pg_class where relowner = r.oid) as owned
        from pg_roles r where rolname = current_user`,
    ),
  );
  expect(role.rows).toEqual([{ name: 'crm_service', mighty: false, owned: 0 }]);
});

test.each([
  'truncate customers',
  'create table planted (id int)',
  'create schema planted',
  'alter table customers disable trigger all',
  'drop table quotes',
  'create function planted() returns int language sql return 1',
  'drop extension unaccent',
  'insert into drizzle.__drizzle_migrations (hash, created_at) values (1, 1)',
  'delete from drizzle.__drizzle_migrations',
])('it cannot %s', async (statement) => {
  const done = administer(service.url, (client) => client.query(statement));
  await expect(done).rejects.toMatchObject({ code: '42501' });
});
