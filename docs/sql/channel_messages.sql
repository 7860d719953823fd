-- Made by npm run docs from the repositories; see docs/changing-it.md, "From a URL to SQL".

-- channel_messages.get
-- $1 organizationId, $2 conversationId, $3 id
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
      channel_messages.organization_id = $organizationId
      and channel_messages.conversation_id = $conversationId
      and channel_messages.id = $id
  ) item;

-- channel_messages.insert
-- $1 organizationId, $2 conversationId, $3 id, $4 content, $5 direction, $6 messageType, $7 senderName, $8 providerName, $9 externalId, $10 subject, $11 createdAt
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
values
  ($organizationId, $conversationId, $id, $content, $direction, $messageType, $senderName, $providerName, $externalId, $subject, coalesce($createdAt::timestamptz, now()))
returning
  (
    extract(
      epoch
      from
        created_at at time zone 'UTC'
    ) * 1000
  )::float8 as "createdAt";

-- channel_messages.stored
-- $1 organizationId, $2 conversationId, $3 ids
select
  id as id
from
  channel_messages
where
  channel_messages.organization_id = $organizationId
  and channel_messages.conversation_id = $conversationId
  and channel_messages.id = any ($ids::uuid[]);

-- channel_messages.update
-- $1 id, $2 content, $3 direction, $4 messageType, $5 senderName, $6 providerName, $7 externalId, $8 subject, $9 createdAt, $10 organizationId, $11 conversationId
update channel_messages
set
  (id, content, direction, message_type, sender_name, provider_name, external_id, subject, created_at) = row ($id, $content, $direction, $messageType, $senderName, $providerName, $externalId, $subject, coalesce($createdAt::timestamptz, channel_messages.created_at))
where
  channel_messages.organization_id = $organizationId
  and channel_messages.conversation_id = $conversationId
  and channel_messages.id = $id
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
  ) is distinct from row ($id, $content, $direction, $messageType, $senderName, $providerName, $externalId, $subject, coalesce($createdAt::timestamptz, channel_messages.created_at))
returning
  (
    extract(
      epoch
      from
        channel_messages.created_at at time zone 'UTC'
    ) * 1000
  )::float8 as "createdAt";
