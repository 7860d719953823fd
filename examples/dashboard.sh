#!/usr/bin/env bash
# A day at a travel agency, from both sides: what the dashboard writes, and what a website, a spreadsheet and an agent do with it.
#   DASHBOARD_TOKEN=the-token-that-the-start-printed ./dashboard.sh
set -euo pipefail
: "${DASHBOARD_TOKEN:?Set DASHBOARD_TOKEN to the token that npm start prints}"
export CRM_URL=${CRM_URL:-http://localhost:3000}
V1=${CRM_URL%/}/v1
DASHBOARD=${DASHBOARD:-http://localhost:3001/dashboard/v1}
FOLDER=$(mktemp -d)
trap 'rm -rf "$FOLDER"' EXIT

step() { printf '\n== %s\n' "$1"; }
dashboard() { curl -sS -H "Authorization: Bearer $DASHBOARD_TOKEN" -H 'Content-Type: application/json' "$@" && echo; }
v1() { curl -sS -H "x-api-key: $KEY" -H 'Content-Type: application/json' "$@" && echo; }
crm() { CRM_API_KEY=$OFFICE npm run --silent --prefix "$(dirname "$0")/.." crm -- "$@" 2>&1; }
tool() {
  v1 "${CRM_URL%/}/mcp" -d '{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "'"$1"'", "arguments": '"$2"'}}' |
    field 'result.content[0].text'
}
field() { node -p "JSON.parse(require('fs').readFileSync(0)).$1"; }
uuid() { node -p 'crypto.randomUUID()'; }

step 'The dashboard opens an agency, with a key for each program; each key is shown this once'
ORG=$DASHBOARD/organizations/$(dashboard "$DASHBOARD/organizations" -d '{"name": "Viajes Aurora"}' | field id)
issue() { dashboard "$ORG/api-keys" -d "$1" | field key; }
WEBSITE=$(issue '{"name": "website", "access": "create", "resources": ["customers"]}')
OFFICE=$(issue '{"name": "spreadsheet", "requestsPerMinute": 600}')
AGENT=$(issue '{"name": "agent", "access": "read"}')

step 'The website sends a lead twice: one customer. Its key reads nothing'
KEY=$WEBSITE
LEAD='{"firstName": "Ana", "tags": ["web"], "contacts": [{"identifierType": "whatsapp", "identifierValue": "+51 987 654 321"}]}'
CUSTOMER=$(v1 "$V1/customers" -H 'Idempotency-Key: form-1' -d "$LEAD" | field id)
v1 "$V1/customers" -H 'Idempotency-Key: form-1' -d "$LEAD"
v1 "$V1/customers/$CUSTOMER" | field error.code

step 'She writes on WhatsApp: the conversation gets the customer that has its contact. A batch keeps its order'
CHAT=$(uuid) MESSAGE=$(uuid)
dashboard -X PUT "$ORG/conversations/$CHAT" -d '{"channel": "whatsapp", "contact": "51987654321", "contactName": "Anita", "language": "es"}'
dashboard "$ORG/conversations/$CHAT/messages" -d '{"data": [
  {"id": "'"$(uuid)"'", "content": "¿Tienen salidas en enero?", "direction": "inbound", "messageType": "text", "createdAt": "2026-11-20T10:00:00Z"},
  {"id": "'"$MESSAGE"'", "content": "Sí, le mando una cotización.", "direction": "outbound", "messageType": "text", "createdAt": "2026-11-20T10:00:00Z",
    "delivery": {"status": "read"}}
]}'

step 'The provider rotates the thread: the new one takes customer, name and language; the transcript joins both'
NEXT=$(uuid)
dashboard -X PUT "$ORG/conversations/$NEXT" -d '{"channel": "whatsapp", "contact": "51987654321", "rotatedFrom": "'"$CHAT"'"}'
dashboard "$ORG/conversations/$NEXT/messages"

step 'An opportunity: what the seller knows better and what the agent sets stand side by side'
STAGE=$(uuid) SELLER=$(uuid) OPPORTUNITY=$(uuid)
dashboard -X PUT "$ORG/pipeline-stages/$STAGE" -d '{"key": "quoted", "name": "Cotizado"}'
dashboard -X PUT "$ORG/team-members/$SELLER" -d '{"userId": "u1", "name": "Lucía", "email": "lucia@example.com", "roles": ["seller"]}'
dashboard -X PUT "$ORG/opportunities/$OPPORTUNITY" -d '{
  "title": "Patagonia en enero", "salesStage": "proposal", "temperature": "warm",
  "customerId": "'"$CUSTOMER"'", "sellerMemberId": "'$SELLER'", "stageId": "'$STAGE'"
}'
dashboard -X PATCH "$ORG/opportunities/$OPPORTUNITY" -d '{"temperatureOverride": "hot"}'
dashboard -X PATCH "$ORG/opportunities/$OPPORTUNITY" -d '{"temperature": "cold", "lastActivityAt": "2026-11-21T08:25:00Z"}'

step 'A quote with a file; the customer opens its public page, which has the token and nothing else'
QUOTE=$(uuid)
TOKEN=$(dashboard -X PUT "$ORG/quotes/$QUOTE" -d '{
  "opportunityId": "'"$OPPORTUNITY"'", "title": "Patagonia Norte", "status": "published", "price": 1450, "currency": "USD"
}' | field token)
curl -sS -H "Authorization: Bearer $DASHBOARD_TOKEN" -F kind=itinerary \
  -F 'file=@-;filename=itinerary.txt;type=text/plain' "$ORG/quotes/$QUOTE/attachments" <<<'Día 1: Bariloche'
dashboard "$ORG/quotes?token=$TOKEN" | field 'data[0].id'
dashboard -X POST "$ORG/quotes/$QUOTE/opens"
curl -s "$(dashboard "$ORG/quotes/$QUOTE/attachments" | field 'data[0].url')"

dashboard "$DASHBOARD/quotes?token=$TOKEN" | field organizationId | grep -c .

step 'The screens of an evening: an inbox, a delivery, a board and the trash'
dashboard -X PATCH "$ORG/conversations/$CHAT/messages/$MESSAGE" -d '{"delivery": {"providerMessageId": "wamid.1"}}' | field delivery.status
dashboard -X PATCH "$ORG/deliveries/wamid.1" -d '{"status": "failed", "statusAt": "2026-11-20T10:00:05Z"}' | field delivery.status
dashboard "$ORG/conversations" | field 'data.map(({ contactName, lastMessage }) => [contactName, lastMessage.content])'
dashboard "$ORG/opportunities/totals" | field 'data.map(({ count }) => count)'
dashboard -X DELETE "$ORG/opportunities/$OPPORTUNITY" >"$FOLDER/archived.json"
dashboard "$ORG/opportunities?archived=true" | field 'data.map(({ title }) => title)'
dashboard -X POST "$ORG/opportunities/$OPPORTUNITY/restore" | field archivedAt
dashboard "$DASHBOARD/organizations?userId=u1" | field 'data.map(({ name }) => name)'

step 'History from another system keeps its dates, openings and public links'
dashboard -X PUT "$ORG/quotes/$(uuid)" -d '{
  "opportunityId": "'"$OPPORTUNITY"'", "title": "Patagonia Sur", "status": "published", "token": "aurora-2019",
  "createdAt": "2019-03-01T10:00:00Z", "publishedAt": "2019-03-01T10:05:00Z", "openCount": 3, "lastOpenedAt": "2019-03-04T18:30:00Z"
}'

step 'The office imports its callers: she becomes a second customer, because telephone and WhatsApp are two contacts'
printf 'nombre,apellido,ciudad,telefono\nAna,Quispe,Lima,+51 987 654 321\n' >"$FOLDER/callers.csv"
crm import customers "$FOLDER/callers.csv" --yes

step 'The dashboard makes one of the two; the other id says which customer it became'
KEY=$OFFICE
SECOND=$(v1 "$V1/customers?contact=%2B51987654321&contactType=telefono" | field 'data[0].id')
dashboard "$ORG/customers/$CUSTOMER/merge" -d '{"from": "'"$SECOND"'"}'
v1 "$V1/customers/$SECOND" | field error.message

step 'The catalog comes from a sheet; variants change in the dashboard, and the sheet does not overwrite them'
printf 'externalReferenceCode,title,variants\nPAT-8,Patagonia Norte,"[{""label"": ""8 días""}]"\n' >"$FOLDER/catalog.csv"
crm sync products "$FOLDER/catalog.csv" --yes
PRODUCT=$(v1 "$V1/catalog/products?externalReferenceCode=PAT-8")
dashboard -X PATCH "$ORG/catalog/products/$(field 'data[0].id' <<<"$PRODUCT")" -d '{"destinations": ["Bariloche"], "variants": [
  {"id": "'"$(field 'data[0].variants[0].id' <<<"$PRODUCT")"'", "label": "8 días, 7 noches", "durationHours": 180.5}
]}'
crm sync products "$FOLDER/catalog.csv" --yes || cat "$FOLDER/catalog.rejected.csv"

step 'What each screen costs: the requests that it sends when it opens'
screen() { local name=$1 && shift && dashboard -f "${@}" >"$FOLDER/screen.json" && echo "$name: $#"; }
screen 'catalog editor' "$ORG/catalog/products/$(field 'data[0].id' <<<"$PRODUCT")"
screen customer "$ORG/customers/$CUSTOMER" "$ORG/conversations?customerId=$CUSTOMER" "$ORG/opportunities?customerId=$CUSTOMER" \
  "$ORG/quotes?customerId=$CUSTOMER"
screen inbox "$ORG/conversations"
screen conversation "$ORG/conversations/$NEXT/messages"
screen board "$ORG/pipeline-stages" "$ORG/opportunities/totals" "$ORG/opportunities?stageId=$STAGE"
screen quote "$ORG/quotes/$QUOTE" "$ORG/quotes/$QUOTE/attachments"
screen 'public page of a quote' "$DASHBOARD/quotes?token=$TOKEN"
screen login "$DASHBOARD/organizations?userId=u1"
screen team "$ORG/team-members"
screen "developers' area" "$ORG/api-keys?active=true"
screen 'trash, of one kind' "$ORG/opportunities?archived=true"

step 'The agent asks what it is asked: whose number is this, what was written, what goes to Bariloche, what stalls'
KEY=$AGENT
tool listCustomers '{"contact": "+51 987 654 321"}'
tool listConversations '{"contact": "+51 987 654 321"}'
tool getConversationTranscript '{"conversationId": "'"$CHAT"'", "limit": 1}'
tool listCatalogProducts '{"destination": "Bariloche"}'
tool listOpportunities '{"updatedBefore": "'"$(node -p 'new Date(Date.now() - 14 * 86400000).toISOString()')"'"}'

step 'A customer who was archived comes back; a person who asks for it is exported, and erased under both ids'
KEY=$OFFICE
v1 -X DELETE "$V1/customers/$CUSTOMER"
dashboard "$ORG/customers?archived=true" | field 'data.map(({ firstName }) => firstName)'
dashboard -X POST "$ORG/customers/$CUSTOMER/restore" | field displayName
dashboard "$ORG/customers/$CUSTOMER/export" | field 'conversations.length'
dashboard -X POST "$ORG/customers/$CUSTOMER/erase"
dashboard "$ORG/customers/$SECOND" | field firstName

step "In the evening the website's key is replaced: the old one works until tomorrow"
dashboard "$ORG/api-keys" | field 'data.map(({ name, access }) => `${name}: ${access}`)'
OLD=$(dashboard "$ORG/api-keys" | field 'data.find(({ name }) => name === "website").id')
dashboard "$ORG/api-keys/$OLD/rotate" -d '{}' | field start
KEY=$WEBSITE
v1 "$V1/customers" -d '{"contacts": [{"identifierType": "email", "identifierValue": "leo@example.com"}]}' | field 'contacts[0].identifierValue'
