-- Made by npm run docs from the repositories; see docs/changing-it.md, "From a URL to SQL".

-- quotes.archive
-- $1 organizationId, $2 id
with
  gone as (
    update quotes
    set
      archived_at = now()
    where
      quotes.organization_id = $organizationId
      and quotes.id = $id
      and quotes.archived_at is null
    returning
      quotes.id,
      quotes.archived_at
  ),
  uncounted as (
    update live_counts
    set
      live = live_counts.live - 1
    from
      gone
    where
      live_counts.organization_id = $organizationId
      and live_counts.resource = 'quotes'
      and live_counts.slot = (
        select
          min(live_counts.slot)
        from
          live_counts
        where
          live_counts.organization_id = $organizationId
          and live_counts.resource = 'quotes'
      )
  )
select
  row_to_json(item)::text as body
from
  (
    select
      gone.id as id,
      to_char(gone.archived_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "archivedAt"
    from
      gone
  ) item;

-- quotes.attachments_of_files
-- $1 organizationId, $2 ids
select
  id as id
from
  quote_attachments
where
  quote_attachments.organization_id = $organizationId
  and quote_attachments.id = any ($ids::uuid[]);

-- quotes.create_attachment
-- $1 id, $2 fileName, $3 kind, $4 mimeType, $5 sizeBytes, $6 organizationId, $7 quoteId
insert into
  quote_attachments as attachment (organization_id, id, quote_id, file_name, kind, mime_type, size_bytes)
select
  quotes.organization_id,
  $id::uuid,
  quotes.id,
  $fileName,
  $kind,
  $mimeType,
  $sizeBytes
from
  quotes
where
  quotes.organization_id = $organizationId
  and quotes.id = $quoteId
  and quotes.archived_at is null
returning
  attachment.id;

-- quotes.delete_attachment
-- $1 organizationId, $2 id
delete from quote_attachments
where
  quote_attachments.organization_id = $organizationId
  and quote_attachments.id = $id;

-- quotes.find_attachment
-- $1 organizationId, $2 id
select
  quote_attachments.id as id,
  quote_attachments.file_name as "fileName",
  quote_attachments.kind as kind,
  quote_attachments.mime_type as "mimeType",
  quote_attachments.size_bytes::float8 as "sizeBytes"
from
  quote_attachments
  inner join quotes on quotes.organization_id = quote_attachments.organization_id
  and quotes.id = quote_attachments.quote_id
where
  quote_attachments.organization_id = $organizationId
  and quote_attachments.id = $id
  and quotes.archived_at is null;

-- quotes.get
-- $1 organizationId, $2 id
select
  row_to_json(item)::text as body
from
  (
    select
      quotes.id as id,
      quotes.opportunity_id as "opportunityId",
      quotes.title as title,
      quotes.status as status,
      quotes.destination as destination,
      quotes.customer_id as "customerId",
      nullif(concat_ws(' ', nullif(customers.first_name, ''), nullif(customers.last_name, '')), '') as "customerName",
      quotes.price as price,
      quotes.currency as currency,
      quotes.token as token,
      quotes.open_count as "openCount",
      to_char(quotes.first_opened_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "firstOpenedAt",
      to_char(quotes.last_opened_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "lastOpenedAt",
      to_char(quotes.published_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "publishedAt",
      to_char(quotes.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "createdAt",
      to_char(quotes.updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "updatedAt"
    from
      quotes
      left join customers on customers.organization_id = quotes.organization_id
      and customers.id = quotes.customer_id
    where
      quotes.organization_id = $organizationId
      and quotes.id = $id
      and quotes.archived_at is null
  ) item;

-- quotes.list
-- $1 organizationId, $2 limit
select
  page.id,
  (
    -- … 27 lines as in quotes.get
          and quotes.id = page.id
      ) item
  ) as body
from
  (
    select
      *
    from
      (
        select
          quotes.id as id
        from
          quotes
        where
          quotes.organization_id = $organizationId
          and quotes.archived_at is null
        order by
          quotes.updated_at desc nulls last,
          quotes.id desc nulls last
        limit
          100
      ) page
    limit
      $limit
  ) page;

-- quotes.list customerId
-- $1 organizationId, $2 customerId, $3 limit
-- as quotes.list, but
--   and quotes.archived_at is null
-- + and quotes.customer_id = $customerId

-- quotes.list offset
-- $1 organizationId, $2 offset, $3 limit
-- as quotes.list, but
--     100
-- + offset
-- +   $offset

-- quotes.list opportunityId
-- $1 organizationId, $2 opportunityId, $3 limit
-- as quotes.list, but
--   and quotes.archived_at is null
-- + and quotes.opportunity_id = $opportunityId

-- quotes.list query
-- $1 organizationId, $2 query, $3 limit
-- a custom plan at each run
-- as quotes.list, but
--   and quotes.archived_at is null
-- + and quotes.search like contains_pattern ($query)

-- quotes.list status
-- $1 organizationId, $2 status, $3 limit
-- as quotes.list, but
--   and quotes.archived_at is null
-- + and quotes.status = $status

-- quotes.list_attachments
-- $1 organizationId, $2 id
select
  coalesce(
    (
      select
        json_agg(attachment)
      from
        (
          select
            id as id,
            file_name as "fileName",
            kind as kind,
            mime_type as "mimeType",
            size_bytes::float8 as "sizeBytes"
          from
            quote_attachments
          where
            quote_attachments.organization_id = $organizationId
            and quote_attachments.quote_id = quotes.id
          order by
            quote_attachments.created_at,
            quote_attachments.id
        ) attachment
    ),
    '[]'
  ) as attachments
from
  quotes
where
  quotes.organization_id = $organizationId
  and quotes.id = $id
  and quotes.archived_at is null;

-- quotes.list_total
-- $1 organizationId
select
  coalesce(sum(live_counts.live), 0) as total
from
  live_counts
where
  live_counts.organization_id = $organizationId
  and live_counts.resource = 'quotes';

-- quotes.list_total customerId
-- $1 organizationId, $2 customerId
select
  count(*) as total
from
  quotes
where
  quotes.organization_id = $organizationId
  and quotes.archived_at is null
  and quotes.customer_id = $customerId;

-- quotes.list_total opportunityId
-- $1 organizationId, $2 opportunityId
-- as quotes.list_total customerId, but
--   and quotes.archived_at is null
-- - and quotes.customer_id = $customerId;
-- + and quotes.opportunity_id = $opportunityId;

-- quotes.list_total query
-- $1 organizationId, $2 query
-- a custom plan at each run
-- as quotes.list_total customerId, but
--   and quotes.archived_at is null
-- - and quotes.customer_id = $customerId;
-- + and quotes.search like contains_pattern ($query);

-- quotes.list_total status
-- $1 organizationId, $2 status
-- as quotes.list_total customerId, but
--   and quotes.archived_at is null
-- - and quotes.customer_id = $customerId;
-- + and quotes.status = $status;

-- quotes.lock
-- $1 organizationId, $2 id
select
from
  quotes
where
  quotes.organization_id = $organizationId
  and quotes.id = $id
for update;

-- quotes.lock_attachment
-- $1 organizationId, $2 id, $3 quoteId
select
  id as id,
  size_bytes as "sizeBytes"
from
  quote_attachments
where
  quote_attachments.organization_id = $organizationId
  and quote_attachments.id = $id
  and quote_attachments.quote_id = $quoteId
for update;

-- quotes.open
-- $1 openedAt, $2 organizationId, $3 id
update quotes
set
  open_count = quotes.open_count + 1,
  first_opened_at = least(quotes.first_opened_at, $openedAt::timestamptz),
  last_opened_at = greatest(quotes.last_opened_at, $openedAt::timestamptz)
where
  quotes.organization_id = $organizationId
  and quotes.id = $id
  and quotes.archived_at is null;

-- quotes.organizations_of_files
-- $1 ids
select
  id as id
from
  organizations
where
  organizations.id = any ($ids::uuid[]);

-- quotes.put_insert
-- $1 organizationId, $2 id, $3 opportunityId, $4 title, $5 status, $6 destination, $7 customerId, $8 price, $9 currency, $10 token, $11 publishedAt
insert into
  quotes (
    organization_id,
    id,
    opportunity_id,
    title,
    status,
    destination,
    customer_id,
    price,
    currency,
    token,
    open_count,
    first_opened_at,
    last_opened_at,
    published_at,
    created_at,
    updated_at,
    archived_at
  )
values
  ($organizationId, $id, $opportunityId, $title, $status, $destination, $customerId, $price, $currency, $token, default, default, default, $publishedAt, default, default, default)
on conflict do nothing
returning
  id as id;

-- quotes.put_lock
-- $1 organizationId, $2 id
select
  archived_at is not null as "isArchived",
  opportunity_id as "opportunityId",
  customer_id as "customerId"
from
  quotes
where
  quotes.organization_id = $organizationId
  and quotes.id = $id
for update;

-- quotes.put_references
-- $1 organizationId, $2 opportunityId, $3 customerId
select
  exists (
    select
    from
      opportunities
    where
      opportunities.organization_id = $organizationId
      and opportunities.id = $opportunityId
      and opportunities.archived_at is null
  ) as "opportunityId",
  exists (
    select
    from
      customers
    where
      customers.organization_id = $organizationId
      and customers.id = $customerId
      and customers.archived_at is null
  ) as "customerId";

-- quotes.put_replace
-- $1 opportunityId, $2 title, $3 status, $4 destination, $5 customerId, $6 price, $7 currency, $8 publishedAt, $9 organizationId, $10 id
update quotes
set
  opportunity_id = $opportunityId,
  title = $title,
  status = $status,
  destination = $destination,
  customer_id = $customerId,
  price = $price,
  currency = $currency,
  published_at = $publishedAt,
  updated_at = greatest(now(), (quotes.updated_at at time zone 'UTC' + interval '1 millisecond') at time zone 'UTC'),
  archived_at = null
where
  (
    quotes.organization_id = $organizationId
    and quotes.id = $id
    and (
      quotes.archived_at is not null
      or row (
        quotes.opportunity_id,
        quotes.title,
        quotes.status,
        quotes.destination,
        quotes.customer_id,
        quotes.price,
        quotes.currency,
        quotes.published_at
      ) is distinct from row ($opportunityId, $title, $status, $destination, $customerId, $price, $currency, $publishedAt)
    )
  );
