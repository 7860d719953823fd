-- Made by npm run docs from the repositories; see docs/changing-it.md.

-- whatsapp_messages.get
-- $1 organizationId, $2 conversationId, $3 id
-- one JSON body
select
  row_to_json(item)::text as body
from
  (
    select
      whatsapp_messages.id as id,
      whatsapp_messages.conversation_id as "conversationId",
      whatsapp_messages.content as content,
      to_char(whatsapp_messages.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "createdAt",
      whatsapp_messages.direction as direction,
      whatsapp_messages.message_type as "messageType",
      whatsapp_messages.sender_name as "senderName"
    from
      whatsapp_messages
    where
      whatsapp_messages.organization_id = $1
      and whatsapp_messages.conversation_id = $2
      and whatsapp_messages.id = $3
  ) item;

-- whatsapp_messages.insert
-- $1 organizationId, $2 conversationId, $3 messages
-- rows
insert into
  whatsapp_messages (
    organization_id,
    conversation_id,
    id,
    content,
    direction,
    message_type,
    sender_name,
    provider_message_id,
    delivery_status,
    delivery_status_at,
    template_name,
    created_at
  )
select
  $1::uuid,
  $2::uuid,
  input.id,
  input.content,
  input.direction,
  input.message_type,
  input.sender_name,
  input.provider_message_id,
  input.delivery_status,
  input.delivery_status_at,
  input.template_name,
  coalesce(input.created_at, now())
from
  jsonb_populate_recordset(null::whatsapp_messages, $3::jsonb) input
returning
  created_at as "createdAt";

-- whatsapp_messages.stored
-- $1 organizationId, $2 conversationId, $3 ids
-- rows
select
  id as id
from
  whatsapp_messages
where
  whatsapp_messages.organization_id = $1
  and whatsapp_messages.conversation_id = $2
  and whatsapp_messages.id = any ($3::uuid[]);

-- whatsapp_messages.update
-- $1 messages, $2 organizationId, $3 conversationId
-- rows
update whatsapp_messages
set
  (
    id,
    content,
    direction,
    message_type,
    sender_name,
    provider_message_id,
    delivery_status,
    delivery_status_at,
    template_name,
    created_at
  ) = row (
    input.id,
    input.content,
    input.direction,
    input.message_type,
    input.sender_name,
    input.provider_message_id,
    input.delivery_status,
    input.delivery_status_at,
    input.template_name,
    coalesce(input.created_at, whatsapp_messages.created_at)
  )
from
  jsonb_populate_recordset(null::whatsapp_messages, $1::jsonb) input
where
  whatsapp_messages.organization_id = $2
  and whatsapp_messages.conversation_id = $3
  and whatsapp_messages.id = input.id
  and row (
    whatsapp_messages.id,
    whatsapp_messages.content,
    whatsapp_messages.direction,
    whatsapp_messages.message_type,
    whatsapp_messages.sender_name,
    whatsapp_messages.provider_message_id,
    whatsapp_messages.delivery_status,
    whatsapp_messages.delivery_status_at,
    whatsapp_messages.template_name,
    whatsapp_messages.created_at
  ) is distinct from row (
    input.id,
    input.content,
    input.direction,
    input.message_type,
    input.sender_name,
    input.provider_message_id,
    input.delivery_status,
    input.delivery_status_at,
    input.template_name,
    coalesce(input.created_at, whatsapp_messages.created_at)
  )
returning
  whatsapp_messages.created_at as "createdAt";
