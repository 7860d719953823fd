import { expect, test } from 'vitest';
import { migrateDatabase } from '../../src/db/index.ts';
import { createOrganization } from '../../src/organizations/repository.ts';
import { administer, EMPTY_TEMPLATE, ownDatabase, runSql } from '../support/databases.ts';
import { ownPool } from '../support/instance.ts';
import { useService } from '../support/service.ts';

/** The tests of the suite run as this role, so its rights suffice for the service. */

const service = await useService();

test('the service runs as the role of deploy/service-role.sql, which owns nothing', async () => {
  const role = `select rolname as name, rolsuper or rolcreaterole or rolcreatedb or rolbypassrls as privileged,
      (select count(*)::int from pg_class where relowner = r.oid) as owned
    from pg_roles r where rolname = current_user`;
  expect(await runSql(service.url, role)).toEqual([{ name: 'crm_service', privileged: false, owned: 0 }]);
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
  await expect(runSql(service.url, statement)).rejects.toMatchObject({ code: '42501' });
});

test('a role that has a schema of its own name has its tables in public, and finds them there', async () => {
  const { ownerUrl } = await ownDatabase(EMPTY_TEMPLATE);
  await administer(ownerUrl, async (client) => {
    await client.query(`create schema ${client.user}`);
    await client.query(`create table ${client.user}.organizations (id uuid)`);
  });
  await migrateDatabase(ownerUrl);
  const { id } = await createOrganization(ownPool(service, { url: ownerUrl }), 'Agency');
  expect(await runSql(ownerUrl, 'select id from public.organizations')).toEqual([{ id }]);
});

test('a role without rights is told where they are', async () => {
  const { url, ownerUrl } = await ownDatabase();
  await runSql(ownerUrl, 'revoke all on all tables in schema drizzle from crm_service');
  await expect(migrateDatabase(url)).rejects.toThrow(
    'The database at DATABASE_URL cannot be used: permission denied for table __drizzle_migrations; deploy/service-role.sql has the rights that its role needs.',
  );
});
