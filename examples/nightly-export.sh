#!/usr/bin/env bash
# Writes all customers to customers.ndjson and customers.csv in a folder: for cron, with curl and jq.
#   CRM_URL=https://crm.example.com CRM_API_KEY=tcrm_… ./nightly-export.sh /backups
set -euo pipefail
folder=${1:?Usage: nightly-export.sh <folder>}
work=$(mktemp -d "$folder/.export.XXXXXX")
trap 'rm -rf "$work"' EXIT

page() { # 100 customers from an offset; curl honors Retry-After, but does not repeat a request whose connection broke
  local get=(curl --silent --show-error --fail --retry 8 --retry-connrefused --max-time 60 --output "$work/page"
    --header "Authorization: Bearer $CRM_API_KEY" "${CRM_URL%/}/v1/customers?limit=100&offset=$1")
  "${get[@]}" || { sleep 1 && "${get[@]}"; }
}

# A customer that changes meanwhile moves to the front: it comes twice, or another one is missed.
# So the walk is repeated until no customer came twice and the total did not change.
for _ in 1 2 3 4 5 6 7 8 9 10; do
  : >"$work/rows" && : >"$work/totals"
  offset=0 total=1
  while ((offset < total)); do
    page "$offset"
    jq --compact-output '.data[]' "$work/page" >>"$work/rows"
    total=$(jq .pagination.total "$work/page")
    echo "$total" >>"$work/totals"
    offset=$((offset + 100))
  done
  twice=$(jq --raw-output .id "$work/rows" | sort | uniq -d | wc -l)
  totals=$(sort -u "$work/totals" | wc -l)
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
echo "$(wc -l <"$folder/customers.ndjson") customers"
