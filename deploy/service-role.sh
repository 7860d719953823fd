#!/bin/bash
# The PostgreSQL image runs it when it creates its database, for docker-compose.yml.
set -euo pipefail
psql --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" --set ON_ERROR_STOP=1 --set password="$SERVICE_PASSWORD" \
  --file /service-role.sql
