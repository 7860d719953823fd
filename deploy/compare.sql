-- Counts, search documents, contact keys, names of contacts and links to customers that differ from their records. It reads all
-- records, and can run beside the service. docs/operating.md says when to run it. What to do with a row, by `kept_in`:
--
-- live_counts: add the `missing` number to the resource in `what` with its `value`:
--   insert into live_counts (organization_id, resource, value, slot, live) values ('ORGANIZATION', 'WHAT', 'VALUE', 0, MISSING)
--   on conflict (organization_id, resource, value, slot) do update set live = live_counts.live + excluded.live
-- searchable_…: delete the row whose id is `what`. If the record is visible, change one of its texts over the API, and change it back.
-- customer_contact_keys: if the customer is archived, delete its rows. If not, PATCH its contacts to another list, and back.
-- named_contacts: PATCH the contacts of the customer to another list, and back. A customer without space for the name stays.
-- conversations: set `message_count` to the `value`, and `last_message_at` to that of its latest message.
-- ….customer_id: the customer was merged; PATCH `customerId` of the record to the `value`.
-- linked_conversations: the same, unless null was sent on purpose.
-- linked_quotes: PATCH `customerId` of the opportunity to another value, and back.
select organization_id, 'live_counts' as kept_in, resource as what, value, coalesce(there, 0) - coalesce(counted, 0) as missing
from (select organization_id, resource, value, sum(live) as counted from live_counts group by 1, 2, 3) as kept
full join (
  select organization_id, 'products' as resource, status as value, count(*) as there from products where archived_at is null group by 1, 3
  union all
  select organization_id, 'customers', '', count(*) from customers where archived_at is null group by 1
  union all
  select organization_id, 'opportunities', '', count(*) from opportunities where archived_at is null group by 1
  union all
  select organization_id, 'opportunities.sales_stage', sales_stage, count(*) from opportunities where archived_at is null group by 1, 3
  union all
  select organization_id, 'conversations', '', count(*) from conversations where continued_by is null group by 1
  union all
  select organization_id, 'quotes', status, count(*) from quotes where archived_at is null group by 1, 3
) as records using (organization_id, resource, value)
where coalesce(there, 0) <> coalesce(counted, 0)
union all
select organization_id, 'searchable_products', id::text, null, null
from (
  select organization_id, id, fold_text(concat_ws(chr(31), title, short_description, description)) as search,
    type, status, budget_tier, external_reference_code,
    array(select entry from unnest(destinations) entry where length(entry) <= 600) as destinations
  from products where archived_at is null
) as record full join searchable_products as kept using (organization_id, id)
where record is distinct from kept
union all
select organization_id, 'searchable_customers', id::text, null, null
from (
  select organization_id, id, fold_text(concat_ws(chr(31), concat_ws(' ', nullif(first_name, ''), nullif(last_name, '')),
    summary, contact_search)) as search, tags
  from customers where archived_at is null
) as record full join searchable_customers as kept using (organization_id, id)
where record is distinct from kept
union all
select organization_id, 'searchable_opportunities', id::text, null, null
from (
  select organization_id, id, fold_text(concat_ws(chr(31), title, short_ref, destination)) as search
  from opportunities where archived_at is null
) as record full join searchable_opportunities as kept using (organization_id, id)
where record is distinct from kept
union all
select organization_id, 'searchable_conversations', id::text, null, null
from (
  select organization_id, id, fold_text(concat_ws(chr(31), contact_name, contact, contact_key,
    case when contact_key ~ '^\+' and contact ~ '^[^@]*\d[^@\d]+\d[^@]*$' then regexp_replace(contact, '[^+\d]', '', 'g') end)) as search, chain_id
  from conversations
) as record full join searchable_conversations as kept using (organization_id, id)
where record is distinct from kept
union all
select organization_id, 'searchable_quotes', id::text, null, null
from (
  select organization_id, id, fold_text(concat_ws(chr(31), title, destination)) as search
  from quotes where archived_at is null
) as record full join searchable_quotes as kept using (organization_id, id)
where record is distinct from kept
union all
select organization_id, 'customer_contact_keys', id::text, null, coalesce(contacts, 0) - coalesce(cardinality(keys), 0)
from (
  select organization_id, id, json_array_length(contacts) as contacts, array(select unnest(contact_keys) order by 1) as wanted
  from customers where archived_at is null
) as record full join (
  select organization_id, customer_id as id, array_agg(key order by key) as keys
  from customer_contact_keys, concat(identifier_type, ' ', contact_key) as key group by 1, 2
) as kept using (organization_id, id)
where coalesce(wanted, '{}') <> coalesce(keys, '{}') or contacts <> cardinality(wanted)
union all
select customers.organization_id, 'named_contacts', customers.id::text, latest.contact_name, null
from customers cross join unnest(contact_keys) with ordinality as contact (key, place)
left join lateral (
  select contact_name from conversations
  where organization_id = customers.organization_id and contact_key = substr(key, strpos(key, ' ') + 1)
    and channel = split_part(key, ' ', 1) and contact_name is not null
  order by created_at desc, id desc limit 1
) as latest on true
where archived_at is null and contacts -> (place - 1)::int ->> 'displayName' is distinct from latest.contact_name
union all
select organization_id, 'conversations', id::text, there::text, null
from (
  select conversations.*, coalesce(amount, 0) as there, latest, max(latest) over (partition by organization_id, chain_id) as of_chain
  from conversations left join (
    select organization_id, conversation_id as id, count(*) as amount, max(created_at) as latest
    from (
      select organization_id, conversation_id, created_at from whatsapp_messages
      union all
      select organization_id, conversation_id, created_at from channel_messages
    ) as message group by 1, 2
  ) as messages using (organization_id, id)
) as thread
where organization_id not in (select id from organizations where purge_began_at is not null)
  and (message_count <> there or last_message_at is distinct from case when continued_by is null then of_chain else latest end)
union all
select organization_id, concat(kind, '.customer_id'), record.id::text, merged_into::text, null
from (
  select organization_id, 'opportunities' as kind, id, customer_id from opportunities
  union all
  select organization_id, 'conversations', id, customer_id from conversations
  union all
  select organization_id, 'quotes', id, customer_id from quotes
) as record join customers using (organization_id)
where customers.id = customer_id and merged_into is not null
union all
select organization_id, 'linked_conversations', id::text, owner.customer_id::text, null
from conversations join customer_contact_keys as owner using (organization_id, contact_key)
where channel = identifier_type and conversations.customer_id is null
union all
select organization_id, 'linked_quotes', quotes.id::text, opportunities.customer_id::text, null
from quotes join opportunities using (organization_id)
where opportunities.id = opportunity_id and quotes.customer_id is distinct from opportunities.customer_id
order by 1, 2, 3, 4;
