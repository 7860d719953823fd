#!/bin/bash
# Creates a data directory that follows the PostgreSQL on HOST: bash standby.sh HOST [anew]. If a data directory exists, it does
# nothing; `anew` deletes the old one. For the containers of docker-compose.yml, as the user postgres: docs/operating.md.
set -euo pipefail
primary=$1
: "${REPLICATION_PASSWORD:?set REPLICATION_PASSWORD in .env, for example with openssl rand -hex 24}"
[[ ${2:-} != anew && -s $PGDATA/PG_VERSION ]] && exit

PGPASSWORD=$POSTGRES_PASSWORD psql --host "$primary" --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" --no-psqlrc --quiet \
  --set ON_ERROR_STOP=1 --set password="$REPLICATION_PASSWORD" --output /dev/null <<'SQL'
select 'create role crm_standby' where not exists (select from pg_roles where rolname = 'crm_standby') \gexec
alter role crm_standby login replication password :'password';
select pg_drop_replication_slot(slot_name) from pg_replication_slots where slot_name = 'standby';
select pg_create_physical_replication_slot('standby', true);
SQL

copy=/var/lib/postgresql/copy
rm -rf "$copy"
PGPASSWORD=$REPLICATION_PASSWORD pg_basebackup --host "$primary" --username crm_standby --pgdata "$copy" \
  --write-recovery-conf --slot standby --checkpoint fast
# Commits of the primary wait for this name. After its promotion, this server waits for no standby.
sed -i '/^synchronous_standby_names/d' "$copy/postgresql.auto.conf"
echo "cluster_name = 'standby'" >>"$copy/postgresql.auto.conf"

mkdir -p "$PGDATA"
chmod 700 "$PGDATA"
find "$PGDATA" -mindepth 1 -delete
# This file comes last, so an interrupted copy is started again.
find "$copy" -mindepth 1 -maxdepth 1 ! -name PG_VERSION -exec mv --target-directory="$PGDATA" {} +
mv "$copy/PG_VERSION" "$PGDATA"
rmdir "$copy"
