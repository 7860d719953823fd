#!/bin/bash
# Run by the PostgreSQL image when it makes its database, for docker-compose.yml.
set -euo pipefail
psql --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" --set ON_ERROR_STOP=1 --set password="$SERVICE_PASSWORD" \
  --file /service-role.sql
