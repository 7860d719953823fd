-- Made by npm run docs from the repositories; see docs/changing-it.md, "From a URL to SQL".

-- customers.add_contact
-- $1 organizationId, $2 id, $3 customerId, $4 position, $5 identifierType, $6 identifierValue, $7 contactKey, $8 phoneNumber
insert into
  customer_contacts (
    organization_id,
    id,
    customer_id,
    position,
    identifier_type,
    identifier_value,
    contact_key,
    phone_number,
    display_name,
    archived_at
  )
values
  ($organizationId, $id, $customerId, $position, $identifierType, $identifierValue, $contactKey, $phoneNumber, default, default)
on conflict do nothing;

-- customers.archive
-- $1 organizationId, $2 id
with
  gone as (
    update customers
    set
      archived_at = now()
    where
      customers.organization_id = $organizationId
      and customers.id = $id
      and customers.archived_at is null
    returning
      customers.id,
      customers.archived_at
  ),
  uncounted as (
    update live_counts
    set
      live = live_counts.live - 1
    from
      gone
    where
      live_counts.organization_id = $organizationId
      and live_counts.resource = 'customers'
      and live_counts.slot = (
        select
          min(live_counts.slot)
        from
          live_counts
        where
          live_counts.organization_id = $organizationId
          and live_counts.resource = 'customers'
      )
  )
select
  row_to_json(item)::text as body
from
  (
    select
      gone.id as id,
      true as archived
    from
      gone
  ) item;

-- customers.contact_owners
-- $1 types, $2 keys, $3 organizationId, $4 id
select
  customer_contacts.identifier_type as "identifierType",
  customer_contacts.contact_key as "contactKey",
  customer_contacts.customer_id as "customerId"
from
  customer_contacts
  inner join unnest($types::text[], $keys::text[]) sent (type, key) on customer_contacts.identifier_type = sent.type
  and customer_contacts.contact_key = sent.key
where
  customer_contacts.organization_id = $organizationId
  and customer_contacts.archived_at is null
  and customer_contacts.customer_id <> $id;

-- customers.contacts_change
-- $1 organizationId, $2 id, $3 contacts
update customers
set
  updated_at = greatest(now(), (customers.updated_at at time zone 'UTC' + interval '1 millisecond') at time zone 'UTC')
where
  customers.organization_id = $organizationId
  and customers.id = $id
  and customers.archived_at is null
  and array(
    select
      concat_ws(' ', customer_contacts.identifier_type, customer_contacts.identifier_value)
    from
      customer_contacts
    where
      customer_contacts.organization_id = $organizationId
      and customer_contacts.customer_id = $id
    order by
      customer_contacts.position
  ) <> $contacts::text[];

-- customers.create
-- $1 organizationId, $2 id, $3 firstName, $4 lastName, $5 city, $6 country, $7 preferredLanguage, $8 summary, $9 tags, $10 contactSearch
insert into
  customers (
    organization_id,
    id,
    first_name,
    last_name,
    city,
    country,
    preferred_language,
    summary,
    tags,
    contact_search,
    created_at,
    updated_at,
    archived_at
  )
values
  ($organizationId, $id, $firstName, $lastName, $city, $country, $preferredLanguage, $summary, $tags, $contactSearch, default, default, default);

-- customers.drop_read_row
-- $1 organizationId, $2 id
delete from customer_bodies
where
  customer_bodies.organization_id = $organizationId
  and customer_bodies.id = $id;

-- customers.drop_search_row
-- $1 organizationId, $2 id
delete from searchable_customers
where
  searchable_customers.organization_id = $organizationId
  and searchable_customers.id = $id;

-- customers.forget_body
-- $1 organizationId, $2 id
update customer_bodies
set
  rendering = 0
where
  customer_bodies.organization_id = $organizationId
  and customer_bodies.id = $id
  and rendering = 147573592;

-- customers.get
-- $1 organizationId, $2 id
select
  customer_bodies.body
from
  customer_bodies
where
  customer_bodies.organization_id = $organizationId
  and customer_bodies.id = $id
  and customer_bodies.rendering = 147573592;

-- customers.keep_contact
-- $1 position, $2 identifierValue, $3 phoneNumber, $4 organizationId, $5 customerId, $6 identifierType, $7 contactKey
update customer_contacts
set
  position = $position,
  identifier_value = $identifierValue,
  phone_number = $phoneNumber
where
  customer_contacts.organization_id = $organizationId
  and customer_contacts.customer_id = $customerId
  and customer_contacts.identifier_type = $identifierType
  and customer_contacts.contact_key = $contactKey
  and (customer_contacts.position, customer_contacts.identifier_value) is distinct from ($position, $identifierValue);

-- customers.list
-- $1 organizationId, $2 limit
select
  *
from
  (
    select
      *
    from
      (
        select
          customer_bodies.id,
          case
            when customer_bodies.rendering = 147573592 then customer_bodies.body
          end as body
        from
          customer_bodies
        where
          customer_bodies.organization_id = $organizationId
        order by
          customer_bodies.updated_at desc nulls last,
          customer_bodies.id desc nulls last
        limit
          100
      ) page
    limit
      $limit
  ) page
limit
  $limit;

-- customers.list offset
-- $1 organizationId, $2 offset, $3 limit
select
  customer_bodies.id,
  case
    when customer_bodies.rendering = 147573592 then customer_bodies.body
  end as body
from
  customer_bodies
where
  customer_bodies.organization_id = $organizationId
  and customer_bodies.id = any (
    array(
      select
        id
      from
        (
          select
            *
          from
            (
              select
                customer_bodies.id as id
              from
                customer_bodies
              where
                customer_bodies.organization_id = $organizationId
              order by
                customer_bodies.updated_at desc nulls last,
                customer_bodies.id desc nulls last
              limit
                100
              offset
                $offset
            ) page
          limit
            $limit
        ) ids
    )
  )
order by
  customer_bodies.updated_at desc nulls last,
  customer_bodies.id desc nulls last;

-- customers.list query
-- $1 organizationId, $2 query, $3 limit
-- a custom plan at each run
-- as customers.list offset, but
--     customer_bodies.organization_id = $organizationId
-- +   and customer_bodies.id in (
-- +     select
-- +       searchable_customers.id
-- +     from
-- +       searchable_customers
-- +     where
-- +       searchable_customers.organization_id = $organizationId
-- +       and searchable_customers.archived_at is null
-- +       and searchable_customers.search like contains_pattern ($query)
-- +   )
--     100
-- - offset
-- -   $offset

-- customers.list tag
-- $1 organizationId, $2 tag, $3 limit
-- a custom plan at each run
-- as customers.list offset, but
--     customer_bodies.organization_id = $organizationId
-- +   and customer_bodies.id in (
-- +     select
-- +       searchable_customers.id
-- +     from
-- +       searchable_customers
-- +     where
-- +       searchable_customers.organization_id = $organizationId
-- +       and searchable_customers.archived_at is null
-- +       and searchable_customers.tags @> array[$tag]::text[]
-- +   )
--     100
-- - offset
-- -   $offset

-- customers.list_total
-- $1 organizationId
select
  coalesce(sum(live_counts.live), 0) as total
from
  live_counts
where
  live_counts.organization_id = $organizationId
  and live_counts.resource = 'customers';

-- customers.list_total query
-- $1 organizationId, $2 query
-- a custom plan at each run
select
  count(*) as total
from
  searchable_customers
where
  searchable_customers.organization_id = $organizationId
  and searchable_customers.archived_at is null
  and searchable_customers.search like contains_pattern ($query);

-- customers.list_total tag
-- $1 organizationId, $2 tag
-- a custom plan at each run
-- as customers.list_total query, but
--   and searchable_customers.archived_at is null
-- - and searchable_customers.search like contains_pattern ($query);
-- + and searchable_customers.tags @> array[$tag]::text[];

-- customers.lock
-- $1 organizationId, $2 id
select
from
  customers
where
  customers.organization_id = $organizationId
  and customers.id = $id
for update;

-- customers.put_search_row
-- $1 organizationId, $2 id
insert into
  searchable_customers as kept (organization_id, id, tags, search, archived_at)
select
  customers.organization_id,
  customers.id,
  customers.tags,
  customers.search,
  customers.archived_at
from
  customers
where
  customers.organization_id = $organizationId
  and customers.id = $id
  and customers.archived_at is null
on conflict (organization_id, id) do update
set
  (tags, search, archived_at) = row (excluded.tags, excluded.search, excluded.archived_at)
where
  row (kept.tags, kept.search, kept.archived_at) is distinct from row (excluded.tags, excluded.search, excluded.archived_at);

-- customers.refresh
-- $1 organizationId, $2 id
insert into
  customer_bodies as kept (organization_id, id, updated_at, rendering, body)
select
  customers.organization_id,
  customers.id,
  customers.updated_at,
  147573592,
  -- … 38 lines as in customers.render
  )
from
  customers
where
  customers.organization_id = $organizationId
  and customers.id = $id
  and customers.archived_at is null
  and not exists (
    select
    from
      customer_bodies kept
    where
      kept.organization_id = $organizationId
      and kept.id = $id
      and kept.updated_at = customers.updated_at
      and kept.rendering = 147573592
  )
on conflict (organization_id, id) do update
set
  (updated_at, rendering, body) = row (excluded.updated_at, excluded.rendering, excluded.body);

-- customers.refuse_missing
-- $1 organizationId, $2 id
select
  refuse_unless (count(*) = 1, 'CUSTOMER_NOT_FOUND')
from
  customers
where
  customers.organization_id = $organizationId
  and customers.id = $id
  and customers.archived_at is null;

-- customers.refuse_taken_contacts
-- $1 contacts, $2 organizationId, $3 id
select
  refuse_unless (count(*) = $contacts::integer, 'CUSTOMER_CONTACT_CONFLICT')
from
  customer_contacts
where
  customer_contacts.organization_id = $organizationId
  and customer_contacts.customer_id = $id;

-- customers.release_contacts
-- $1 organizationId, $2 id
update customer_contacts
set
  archived_at = now()
where
  customer_contacts.organization_id = $organizationId
  and customer_contacts.customer_id = $id
  and customer_contacts.archived_at is null;

-- customers.remove_contacts
-- $1 organizationId, $2 id, $3 types, $4 keys
delete from customer_contacts
where
  customer_contacts.organization_id = $organizationId
  and customer_contacts.customer_id = $id
  and (customer_contacts.identifier_type, customer_contacts.contact_key) not in (
    select
      sent.type,
      sent.key
    from
      unnest($types::text[], $keys::text[]) sent (type, key)
  );

-- customers.render
-- $1 organizationId, $2 ids
-- a custom plan at each run
select
  customers.id,
  (
    select
      row_to_json(item)::text as body
    from
      (
        select
          customers.id as id,
          customers.first_name as "firstName",
          customers.last_name as "lastName",
          nullif(concat_ws(' ', nullif(customers.first_name, ''), nullif(customers.last_name, '')), '') as "displayName",
          customers.city as city,
          customers.country as country,
          customers.preferred_language as "preferredLanguage",
          customers.summary as summary,
          customers.tags as tags,
          (
            select
              concat('[', string_agg(row_to_json(item)::text, ','), ']')::json
            from
              (
                select
                  customer_contacts.id as id,
                  customer_contacts.identifier_type as "identifierType",
                  customer_contacts.identifier_value as "identifierValue",
                  customer_contacts.display_name as "displayName",
                  customer_contacts.phone_number as "phoneNumber"
                from
                  customer_contacts
                where
                  customer_contacts.organization_id = $organizationId
                  and customer_contacts.customer_id = customers.id
                order by
                  customer_contacts.position
              ) item
          ) as contacts,
          to_char(customers.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "createdAt",
          to_char(customers.updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "updatedAt"
      ) item
  ) as body
from
  customers
where
  customers.organization_id = $organizationId
  and customers.id = any ($ids::uuid[])
  and customers.archived_at is null;

-- customers.stale_copies
-- $1 organizationId, $2 after, $3 limit
select
  customers.id as id,
  customers.archived_at is null as "isVisible",
  case
    when customers.archived_at is null then kept.id is null
    or row (kept.updated_at) is distinct from row (customers.updated_at)
    or searched.id is null
    or row (searched.tags, searched.search, searched.archived_at) is distinct from row (customers.tags, customers.search, customers.archived_at)
    or not kept.rendering = 147573592
    else kept.id is not null
    or (
      searched.id is not null
      and searched.archived_at is null
    )
  end as "isFound"
from
  customers
  left join customer_bodies kept on kept.organization_id = $organizationId
  and kept.id = customers.id
  and kept.id > $after
  left join searchable_customers searched on searched.organization_id = $organizationId
  and searched.id = customers.id
  and searched.id > $after
where
  customers.organization_id = $organizationId
  and customers.id > $after
order by
  customers.id
limit
  $limit;

-- customers.update
-- $1 firstName, $2 lastName, $3 city, $4 country, $5 preferredLanguage, $6 summary, $7 tags, $8 contactSearch, $9 organizationId, $10 id
update customers
set
  first_name = $firstName,
  last_name = $lastName,
  city = $city,
  country = $country,
  preferred_language = $preferredLanguage,
  summary = $summary,
  tags = $tags,
  contact_search = $contactSearch,
  updated_at = greatest(now(), (customers.updated_at at time zone 'UTC' + interval '1 millisecond') at time zone 'UTC')
where
  customers.organization_id = $organizationId
  and customers.id = $id
  and customers.archived_at is null
  and row (
    customers.first_name,
    customers.last_name,
    customers.city,
    customers.country,
    customers.preferred_language,
    customers.summary,
    customers.tags,
    customers.contact_search
  ) is distinct from row ($firstName, $lastName, $city, $country, $preferredLanguage, $summary, $tags, $contactSearch);

-- customers.wrong_copies
-- $1 organizationId, $2 after, $3 limit
select
  customers.id as id,
  customers.archived_at is null as "isVisible",
  case
    when customers.archived_at is null then kept.id is null
    or row (kept.updated_at) is distinct from row (customers.updated_at)
    or searched.id is null
    or row (searched.tags, searched.search, searched.archived_at) is distinct from row (customers.tags, customers.search, customers.archived_at)
    or (
      kept.rendering = 147573592
      and kept.body <> (
        -- … 37 lines as in customers.render
      )
    )
    else kept.id is not null
    or (
      searched.id is not null
      and searched.archived_at is null
    )
  end as "isFound"
from
  customers
  left join customer_bodies kept on kept.organization_id = $organizationId
  and kept.id = customers.id
  and kept.id > $after
  left join searchable_customers searched on searched.organization_id = $organizationId
  and searched.id = customers.id
  and searched.id > $after
where
  customers.organization_id = $organizationId
  and customers.id > $after
order by
  customers.id
limit
  $limit;
