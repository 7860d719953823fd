-- Made by npm run docs from the repositories; see docs/changing-it.md, "From a URL to SQL".

-- whatsapp_messages.get
-- $1 organizationId, $2 conversationId, $3 id
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
      whatsapp_messages.organization_id = $organizationId
      and whatsapp_messages.conversation_id = $conversationId
      and whatsapp_messages.id = $id
  ) item;

-- whatsapp_messages.insert
-- $1 organizationId, $2 conversationId, $3 id, $4 content, $5 direction, $6 messageType, $7 senderName, $8 providerMessageId, $9 status, $10 statusAt, $11 templateName, $12 createdAt
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
values
  ($organizationId, $conversationId, $id, $content, $direction, $messageType, $senderName, $providerMessageId, $status, $statusAt, $templateName, coalesce($createdAt::timestamptz, now()))
returning
  (
    extract(
      epoch
      from
        created_at at time zone 'UTC'
    ) * 1000
  )::float8 as "createdAt";

-- whatsapp_messages.stored
-- $1 organizationId, $2 conversationId, $3 ids
select
  id as id
from
  whatsapp_messages
where
  whatsapp_messages.organization_id = $organizationId
  and whatsapp_messages.conversation_id = $conversationId
  and whatsapp_messages.id = any ($ids::uuid[]);

-- whatsapp_messages.update
-- $1 id, $2 content, $3 direction, $4 messageType, $5 senderName, $6 providerMessageId, $7 status, $8 statusAt, $9 templateName, $10 createdAt, $11 organizationId, $12 conversationId
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
  ) = row ($id, $content, $direction, $messageType, $senderName, $providerMessageId, $status, $statusAt, $templateName, coalesce($createdAt::timestamptz, whatsapp_messages.created_at))
where
  whatsapp_messages.organization_id = $organizationId
  and whatsapp_messages.conversation_id = $conversationId
  and whatsapp_messages.id = $id
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
  ) is distinct from row ($id, $content, $direction, $messageType, $senderName, $providerMessageId, $status, $statusAt, $templateName, coalesce($createdAt::timestamptz, whatsapp_messages.created_at))
returning
  (
    extract(
      epoch
      from
        whatsapp_messages.created_at at time zone 'UTC'
    ) * 1000
  )::float8 as "createdAt";
