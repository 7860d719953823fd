-- Made by npm run docs from the repositories; see docs/changing-it.md, "From a URL to SQL".

-- conversations.add_messages
-- $1 inserted, $2 latest, $3 organizationId, $4 id
update conversations
set
  message_count = conversations.message_count + $inserted::integer,
  last_message_at = greatest(conversations.last_message_at, $latest::timestamptz)
where
  (
    conversations.organization_id = $organizationId
    and conversations.id = $id
  );

-- conversations.chain
-- $1 organizationId, $2 chainId
select
  id as id,
  channel as channel,
  message_count as "messageCount",
  rotated_from as "rotatedFrom",
  continued_by as "continuedBy",
  chain_id as "chainId"
from
  conversations
where
  (
    conversations.organization_id = $organizationId
    and conversations.chain_id = $chainId
  );

-- conversations.get
-- $1 organizationId, $2 id
select
  row_to_json(item)::text as body
from
  (
    select
      conversations.id as id,
      conversations.channel as channel,
      conversations.contact as contact,
      conversations.contact_name as "contactName",
      conversations.customer_id as "customerId",
      nullif(concat_ws(' ', nullif(customers.first_name, ''), nullif(customers.last_name, '')), '') as "customerName",
      conversations.activity_state as "activityState",
      conversations.controlled_by as "controlledBy",
      conversations.language as language,
      to_char(conversations.last_message_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "lastMessageAt",
      to_char(conversations.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "createdAt"
    from
      conversations
      left join customers on customers.organization_id = conversations.organization_id
      and customers.id = conversations.customer_id
    where
      conversations.organization_id = $organizationId
      and conversations.id = $id
      and true
  ) item;

-- conversations.list
-- $1 organizationId, $2 limit
select
  page.id,
  (
    -- … 22 lines as in conversations.get
          and conversations.id = page.id
      ) item
  ) as body
from
  (
    select
      *
    from
      (
        select
          conversations.id as id
        from
          conversations
        where
          conversations.organization_id = $organizationId
          and conversations.continued_by is null
        order by
          conversations.last_message_at desc nulls last,
          conversations.id desc nulls last
        limit
          100
      ) page
    limit
      $limit
  ) page;

-- conversations.list activityState
-- $1 organizationId, $2 activityState, $3 limit
-- as conversations.list, but
--   and conversations.continued_by is null
-- + and conversations.activity_state = $activityState

-- conversations.list channel
-- $1 organizationId, $2 channel, $3 limit
-- as conversations.list, but
--   and conversations.continued_by is null
-- + and conversations.channel = $channel

-- conversations.list customerId
-- $1 organizationId, $2 customerId, $3 limit
-- as conversations.list, but
--   and conversations.continued_by is null
-- + and conversations.customer_id = $customerId

-- conversations.list offset
-- $1 organizationId, $2 offset, $3 limit
-- as conversations.list, but
--     100
-- + offset
-- +   $offset

-- conversations.list query
-- $1 organizationId, $2 query, $3 limit
-- a custom plan at each run
-- as conversations.list, but
--   and conversations.continued_by is null
-- + and conversations.search like contains_pattern ($query)

-- conversations.list_total
-- $1 organizationId
select
  coalesce(sum(live_counts.live), 0) as total
from
  live_counts
where
  live_counts.organization_id = $organizationId
  and live_counts.resource = 'conversations';

-- conversations.list_total activityState
-- $1 organizationId, $2 activityState
select
  count(*) as total
from
  conversations
where
  conversations.organization_id = $organizationId
  and conversations.continued_by is null
  and conversations.activity_state = $activityState;

-- conversations.list_total channel
-- $1 organizationId, $2 channel
-- as conversations.list_total activityState, but
--   and conversations.continued_by is null
-- - and conversations.activity_state = $activityState;
-- + and conversations.channel = $channel;

-- conversations.list_total customerId
-- $1 organizationId, $2 customerId
-- as conversations.list_total activityState, but
--   and conversations.continued_by is null
-- - and conversations.activity_state = $activityState;
-- + and conversations.customer_id = $customerId;

-- conversations.list_total query
-- $1 organizationId, $2 query
-- a custom plan at each run
-- as conversations.list_total activityState, but
--   and conversations.continued_by is null
-- - and conversations.activity_state = $activityState;
-- + and conversations.search like contains_pattern ($query);

-- conversations.lock
-- $1 organizationId, $2 id
select
from
  conversations
where
  conversations.organization_id = $organizationId
  and conversations.id = $id
for update;

-- conversations.lock_chains
-- $1 organizationId
select
  pg_advisory_xact_lock(hashtextextended (concat('conversation chains ', $organizationId::text), 0));

-- conversations.lock_channel
-- $1 organizationId, $2 id
select
  channel as channel
from
  conversations
where
  conversations.organization_id = $organizationId
  and conversations.id = $id
for no key update;

-- conversations.put_insert
-- $1 organizationId, $2 id, $3 channel, $4 contact, $5 contactName, $6 customerId, $7 activityState, $8 controlledBy, $9 language, $10 chainId
insert into
  conversations (
    organization_id,
    id,
    channel,
    contact,
    contact_name,
    customer_id,
    activity_state,
    controlled_by,
    language,
    rotated_from,
    continued_by,
    chain_id,
    message_count,
    last_message_at,
    created_at,
    updated_at
  )
values
  ($organizationId, $id, $channel, $contact, $contactName, $customerId, $activityState, $controlledBy, $language, default, default, $chainId, default, default, default, default)
on conflict do nothing
returning
  id as id;

-- conversations.put_lock
-- $1 organizationId, $2 id
select
  false as "isArchived",
  customer_id as "customerId"
from
  conversations
where
  conversations.organization_id = $organizationId
  and conversations.id = $id
for update;

-- conversations.put_references
-- $1 organizationId, $2 customerId
select
  exists (
    select
    from
      customers
    where
      customers.organization_id = $organizationId
      and customers.id = $customerId
      and customers.archived_at is null
  ) as "customerId";

-- conversations.put_replace
-- $1 channel, $2 contact, $3 contactName, $4 customerId, $5 activityState, $6 controlledBy, $7 language, $8 organizationId, $9 id
update conversations
set
  channel = $channel,
  contact = $contact,
  contact_name = $contactName,
  customer_id = $customerId,
  activity_state = $activityState,
  controlled_by = $controlledBy,
  language = $language,
  updated_at = greatest(now(), (conversations.updated_at at time zone 'UTC' + interval '1 millisecond') at time zone 'UTC')
where
  (
    conversations.organization_id = $organizationId
    and conversations.id = $id
    and (
      false
      or row (
        conversations.channel,
        conversations.contact,
        conversations.contact_name,
        conversations.customer_id,
        conversations.activity_state,
        conversations.controlled_by,
        conversations.language
      ) is distinct from row ($channel, $contact, $contactName, $customerId, $activityState, $controlledBy, $language)
    )
  );

-- conversations.set_chain
-- $1 chainId, $2 organizationId, $3 ids
update conversations
set
  chain_id = $chainId
where
  (
    conversations.organization_id = $organizationId
    and conversations.id = any ($ids::uuid[])
  );

-- conversations.set_continued_by
-- $1 continuedBy, $2 organizationId, $3 id
update conversations
set
  continued_by = $continuedBy
where
  conversations.organization_id = $organizationId
  and conversations.id = $id;

-- conversations.set_rotated_from
-- $1 rotatedFrom, $2 organizationId, $3 id
update conversations
set
  rotated_from = $rotatedFrom,
  updated_at = greatest(now(), (conversations.updated_at at time zone 'UTC' + interval '1 millisecond') at time zone 'UTC')
where
  conversations.organization_id = $organizationId
  and conversations.id = $id;

-- conversations.thread
-- $1 organizationId, $2 id
select
  id as id,
  channel as channel,
  message_count as "messageCount",
  rotated_from as "rotatedFrom",
  continued_by as "continuedBy",
  chain_id as "chainId"
from
  conversations
where
  conversations.organization_id = $organizationId
  and conversations.id = $id;

-- conversations.transcript
-- $1 organizationId, $2 id, $3 limit
with
  threads as materialized (
    select
      conversations.id,
      conversations.message_count
    from
      conversations
    where
      conversations.organization_id = $organizationId
      and conversations.chain_id = (
        select
          conversations.chain_id
        from
          conversations
        where
          conversations.organization_id = $organizationId
          and conversations.id = $id
      )
  ),
  newest as (
    select
      message.*
    from
      threads
      cross join lateral (
        (
          select
            whatsapp_messages.id,
            whatsapp_messages.conversation_id,
            whatsapp_messages.content,
            whatsapp_messages.created_at,
            whatsapp_messages.direction,
            whatsapp_messages.message_type,
            whatsapp_messages.sender_name
          from
            whatsapp_messages
          where
            whatsapp_messages.organization_id = $organizationId
            and whatsapp_messages.conversation_id = threads.id
          order by
            whatsapp_messages.created_at desc nulls last,
            whatsapp_messages.id desc nulls last
          limit
            $limit
        )
        union all
        (
          select
            channel_messages.id,
            channel_messages.conversation_id,
            channel_messages.content,
            channel_messages.created_at,
            channel_messages.direction,
            channel_messages.message_type,
            channel_messages.sender_name
          from
            channel_messages
          where
            channel_messages.organization_id = $organizationId
            and channel_messages.conversation_id = threads.id
          order by
            channel_messages.created_at desc nulls last,
            channel_messages.id desc nulls last
          limit
            $limit
        )
      ) message
    order by
      message.created_at desc,
      message.id desc
    limit
      $limit
  )
select
  concat(
    '{"data":[',
    (
      select
        string_agg(rendered.body, ',')
      from
        (
          select
            row_to_json(item)::text as body
          from
            (
              select
                message.id as id,
                message.conversation_id as "conversationId",
                message.content as content,
                to_char(message.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "createdAt",
                message.direction as direction,
                message.message_type as "messageType",
                message.sender_name as "senderName"
              from
                newest message
              order by
                message.created_at,
                message.id
            ) item
        ) rendered
    ),
    '],"total":',
    sum(threads.message_count),
    '}'
  ) as body
from
  threads
having
  count(*) > 0;
