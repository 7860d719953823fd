-- The role of the service: it reads and writes rows, and can neither change the schema nor truncate a table.
-- Run it once for each database, as the owner, and before a backup is restored. It can run again, with a new password:
--   psql "$OWNER_URL" -v ON_ERROR_STOP=1 -v password=… -f deploy/service-role.sql
-- Without -v password, the role must exist: an owner without CREATEROLE cannot create it.
\if :{?password}
do $$ begin create role crm_service; exception when duplicate_object then null; end $$;
alter role crm_service login password :'password';
\endif
create schema if not exists drizzle;
grant usage on schema drizzle to crm_service;
grant select on all tables in schema drizzle to crm_service;
alter default privileges in schema drizzle grant select on tables to crm_service;
grant select, insert, update, delete on all tables in schema public to crm_service;
alter default privileges in schema public grant select, insert, update, delete on tables to crm_service;
