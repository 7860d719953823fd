#!/usr/bin/env bash
# Writes all customers to customers.ndjson and customers.csv in a folder: for cron, with curl and jq.
#   CRM_URL=https://crm.example.com CRM_API_KEY=tcrm_… ./nightly-export.sh /backups
set -euo pipefail
folder=${1:?Usage: nightly-export.sh <folder>}
work=$(mktemp -d "$folder/.export.XXXXXX")
trap 'rm -rf "$work"' EXIT

page() { # 100 customers from an offset; curl honors Retry-After
  curl --silent --show-error --fail --retry 8 --retry-connrefused --max-time 60 \
    --header "Authorization: Bearer $CRM_API_KEY" "$CRM_URL/v1/customers?limit=100&offset=$1"
}

# A customer that changes meanwhile moves to the front: it comes twice, or another one is missed.
# So the walk is repeated until no customer came twice and the total did not change.
for _ in 1 2 3 4 5 6 7 8 9 10; do
  : >"$work/rows" && : >"$work/totals"
  offset=0 total=1
  while ((offset < total)); do
    page "$offset" >"$work/page"
    jq --compact-output '.data[]' "$work/page" >>"$work/rows"
    total=$(jq .pagination.total "$work/page")
    echo "$total" >>"$work/totals"
    offset=$((offset + 100))
  done
  twice=$(jq --raw-output .id "$work/rows" | sort | uniq --repeated | wc --lines)
  totals=$(sort --unique "$work/totals" | wc --lines)
  if ((twice == 0 && totals == 1)); then break; fi
done
((twice == 0 && totals == 1)) || { echo 'The list changed during each of ten walks.' >&2; exit 1; }

{
  echo '"id","name","city","country","contacts","tags","updatedAt"'
  jq --raw-output '[.id, .displayName, .city, .country,
    ([.contacts[] | .identifierType + ":" + .identifierValue] | join(" | ")), (.tags | join(" | ")), .updatedAt] | @csv' "$work/rows"
} >"$work/csv"
mv "$work/rows" "$folder/customers.ndjson"
mv "$work/csv" "$folder/customers.csv"
echo "$(wc --lines <"$folder/customers.ndjson") customers"
