#!/usr/bin/env bash
# A tour of the dashboard API: a new organization with a key, a customer, an opportunity, a conversation and a quote, and what a
# website then sees of it over /v1.
#   DASHBOARD_TOKEN=the-token-that-the-start-printed ./dashboard.sh
set -euo pipefail
: "${DASHBOARD_TOKEN:?Which token? The start prints it}"
API=${API:-http://localhost:3000/v1}
DASHBOARD=${DASHBOARD:-http://localhost:3001/dashboard/v1}

call() { curl -s -H "Authorization: Bearer $DASHBOARD_TOKEN" -H 'Content-Type: application/json' "$@"; }
field() { node -p "JSON.parse(require('fs').readFileSync(0)).$1"; }
uuid() { node -p 'crypto.randomUUID()'; }

# An organization, and a key for its website. It is shown this once.
ORG=$DASHBOARD/organizations/$(call $DASHBOARD/organizations -d '{"name": "Viajes Aurora"}' | field id)
KEY=$(call $ORG/api-keys -d '{"name": "website", "requestsPerMinute": 600}' | field key)

# A customer, over /v1 with that key.
CUSTOMER=$(curl -s $API/customers -H "x-api-key: $KEY" -H 'Content-Type: application/json' -d '{
  "firstName": "Ana", "contacts": [{"identifierType": "whatsapp", "identifierValue": "+52 55 1234 5678"}]
}' | field id)

# A pipeline column, a seller and an opportunity.
STAGE=$(uuid) SELLER=$(uuid) OPPORTUNITY=$(uuid)
call -X PUT $ORG/pipeline-stages/$STAGE -d '{"key": "quoted", "name": "Cotizado"}'
call -X PUT $ORG/team-members/$SELLER -d '{"userId": "u1", "name": "Lucía", "email": "lucia@example.com", "roles": ["seller"]}'
call -X PUT $ORG/opportunities/$OPPORTUNITY -d '{
  "title": "Patagonia en enero", "salesStage": "proposal", "temperature": "warm",
  "customerId": "'$CUSTOMER'", "sellerMemberId": "'$SELLER'", "stageId": "'$STAGE'"
}'

# What a seller knows better, and what the agent makes of it: neither PATCH forgets the other.
call -X PATCH $ORG/opportunities/$OPPORTUNITY -d '{"temperatureOverride": "hot"}'
call -X PATCH $ORG/opportunities/$OPPORTUNITY -d '{"temperature": "cold", "lastActivityAt": "2026-11-21T08:25:00Z"}'

# A conversation, which gets the customer that has its contact. Up to 500 messages at once, all or none, keep their order.
CONVERSATION=$(uuid)
call -X PUT $ORG/conversations/$CONVERSATION -d '{"channel": "whatsapp", "contact": "5215512345678", "language": "es"}'
call $ORG/conversations/$CONVERSATION/messages -d '{"data": [
  {"id": "'$(uuid)'", "content": "¿Tienen salidas en enero?", "direction": "inbound", "messageType": "text"},
  {"id": "'$(uuid)'", "content": "Sí, le mando una cotización.", "direction": "outbound", "messageType": "text",
    "delivery": {"status": "read"}}
]}'

# A thread that continues it, and the transcript of both, with what the provider reports.
NEXT=$(uuid)
call -X PUT $ORG/conversations/$NEXT -d '{"channel": "whatsapp", "contact": "5215512345678", "rotatedFrom": "'$CONVERSATION'"}'
call $ORG/conversations/$NEXT/messages

# A quote, a file for it, and the customer opening it.
QUOTE=$(uuid)
call -X PUT $ORG/quotes/$QUOTE -d '{
  "opportunityId": "'$OPPORTUNITY'", "title": "Patagonia Norte", "status": "published", "price": 1450, "currency": "USD"
}'
curl -s -H "Authorization: Bearer $DASHBOARD_TOKEN" -F kind=itinerary \
  -F 'file=@-;filename=itinerary.txt;type=text/plain' $ORG/quotes/$QUOTE/attachments <<<'Día 1: Bariloche'
call -X POST $ORG/quotes/$QUOTE/opens

# History from another system keeps its dates, openings and public link. The link finds the quote and its files.
PAST=$(uuid)
call -X PUT $ORG/quotes/$PAST -d '{
  "opportunityId": "'$OPPORTUNITY'", "title": "Patagonia Sur", "status": "published", "token": "aurora-2019",
  "createdAt": "2019-03-01T10:00:00Z", "openCount": 3, "lastOpenedAt": "2019-03-04T18:30:00Z"
}'
call "$ORG/quotes?token=aurora-2019"
call $ORG/quotes/$QUOTE/attachments

# What the website sees of it.
curl -s $API/conversations/$CONVERSATION/messages -H "x-api-key: $KEY"
curl -s "$(curl -s $API/quotes/$QUOTE/attachments -H "x-api-key: $KEY" | field 'data[0].url')"
