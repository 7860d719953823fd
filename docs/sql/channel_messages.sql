-- Made by npm run docs from the repositories; see docs/changing-it.md.

-- channel_messages.get
-- $1 organizationId, $2 conversationId, $3 id
-- one JSON body
select
  row_to_json(item)::text as body
from
  (
    select
      channel_messages.id as id,
      channel_messages.conversation_id as "conversationId",
      channel_messages.content as content,
      to_char(channel_messages.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "createdAt",
      channel_messages.direction as direction,
      channel_messages.message_type as "messageType",
      channel_messages.sender_name as "senderName"
    from
      channel_messages
    where
      channel_messages.organization_id = $1
      and channel_messages.conversation_id = $2
      and channel_messages.id = $3
  ) item;

-- channel_messages.insert
-- $1 organizationId, $2 conversationId, $3 messages
-- rows
insert into
  channel_messages (
    organization_id,
    conversation_id,
    id,
    content,
    direction,
    message_type,
    sender_name,
    provider_name,
    external_id,
    subject,
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
  input.provider_name,
  input.external_id,
  input.subject,
  coalesce(input.created_at, now())
from
  jsonb_populate_recordset(null::channel_messages, $3::jsonb) input
returning
  created_at as "createdAt";

-- channel_messages.stored
-- $1 organizationId, $2 conversationId, $3 ids
-- rows
select
  id as id
from
  channel_messages
where
  channel_messages.organization_id = $1
  and channel_messages.conversation_id = $2
  and channel_messages.id = any ($3::uuid[]);

-- channel_messages.update
-- $1 messages, $2 organizationId, $3 conversationId
-- rows
update channel_messages
set
  (id, content, direction, message_type, sender_name, provider_name, external_id, subject, created_at) = row (
    input.id,
    input.content,
    input.direction,
    input.message_type,
    input.sender_name,
    input.provider_name,
    input.external_id,
    input.subject,
    coalesce(input.created_at, channel_messages.created_at)
  )
from
  jsonb_populate_recordset(null::channel_messages, $1::jsonb) input
where
  channel_messages.organization_id = $2
  and channel_messages.conversation_id = $3
  and channel_messages.id = input.id
  and row (
    channel_messages.id,
    channel_messages.content,
    channel_messages.direction,
    channel_messages.message_type,
    channel_messages.sender_name,
    channel_messages.provider_name,
    channel_messages.external_id,
    channel_messages.subject,
    channel_messages.created_at
  ) is distinct from row (
    input.id,
    input.content,
    input.direction,
    input.message_type,
    input.sender_name,
    input.provider_name,
    input.external_id,
    input.subject,
    coalesce(input.created_at, channel_messages.created_at)
  )
returning
  channel_messages.created_at as "createdAt";
