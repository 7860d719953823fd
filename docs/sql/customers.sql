-- Made by npm run docs from the repositories; see docs/changing-it.md.

-- customers.add_contacts
-- $1 contacts, $2 organizationId, $3 id
-- rows
insert into
  customer_contacts (
    organization_id,
    customer_id,
    id,
    position,
    identifier_type,
    identifier_value,
    contact_key,
    phone_number
  )
select
  customers.organization_id,
  customers.id,
  input.id,
  input.position,
  input.identifier_type,
  input.identifier_value,
  input.contact_key,
  input.phone_number
from
  customers,
  jsonb_populate_recordset(null::customer_contacts, $1::jsonb) input
where
  customers.organization_id = $2
  and customers.id = $3
on conflict do nothing
returning
  id as id;

-- customers.archive
-- $1 organizationId, $2 id
-- one JSON body
with
  customers as (
    update customers
    set
      archived_at = now()
    where
      customers.organization_id = $1
      and customers.id = $2
      and customers.archived_at is null
    returning
      *
  ),
  released as (
    update customer_contacts
    set
      archived_at = customers.archived_at
    from
      customers
    where
      customer_contacts.organization_id = $1
      and customer_contacts.customer_id = $2
    returning
      customer_id
  ),
  searched as (
    update searchable_customers searchable
    set
      (tags, search, archived_at) = row (customers.tags, customers.search, customers.archived_at)
    from
      customers
    where
      searchable.organization_id = $1
      and searchable.id = customers.id
  ),
  counted as (
    update live_counts
    set
      live = live_counts.live - gone.amount
    from
      (
        select
          count(distinct customer_id)
        from
          released
      ) gone (amount)
    where
      live_counts.organization_id = $1
      and live_counts.resource = 'customers'
      and gone.amount > 0
      and live_counts.slot = (
        select
          live_counts.slot
        from
          live_counts
        where
          live_counts.organization_id = $1
          and live_counts.resource = 'customers'
        order by
          (live_counts.slot + 16 - pg_backend_pid() % 16) % 16
        limit
          1
      )
  )
select
  row_to_json(item)::text as body
from
  (
    select
      customers.id as id,
      true as archived
    from
      customers
  ) item;

-- customers.contact_owners
-- $1 contacts, $2 organizationId, $3 id
-- rows
select
  customer_contacts.identifier_type as "identifierType",
  customer_contacts.contact_key as "contactKey",
  customer_contacts.customer_id as "customerId"
from
  customer_contacts
  inner join jsonb_populate_recordset(null::customer_contacts, $1::jsonb) input on customer_contacts.identifier_type = input.identifier_type
  and customer_contacts.contact_key = input.contact_key
where
  customer_contacts.organization_id = $2
  and customer_contacts.archived_at is null
  and customer_contacts.customer_id <> $3;

-- customers.copy_searchable
-- $1 organizationId, $2 ids
-- rows
insert into
  searchable_customers as searchable (organization_id, id, tags, search, archived_at)
select
  customers.organization_id,
  customers.id,
  customers.tags,
  customers.search,
  customers.archived_at
from
  customers
where
  customers.organization_id = $1
  and customers.id = any ($2::uuid[])
on conflict (organization_id, id) do update
set
  (tags, search, archived_at) = row (excluded.tags, excluded.search, excluded.archived_at);

-- customers.count_contacts
-- $1 organizationId, $2 id
-- rows
select
  count(*)::int as contacts
from
  customer_contacts
where
  customer_contacts.organization_id = $1
  and customer_contacts.customer_id = $2;

-- customers.create
-- $1 id, $2 customer, $3 organizationId, $4 contacts
-- rows
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
    contact_search
  )
select
  live_counts.organization_id,
  $1::uuid,
  input.first_name,
  input.last_name,
  input.city,
  input.country,
  input.preferred_language,
  input.summary,
  input.tags,
  input.contact_search
from
  live_counts,
  jsonb_populate_record(null::customers, $2::jsonb) input
where
  live_counts.organization_id = $3
  and live_counts.resource = 'customers'
  and live_counts.slot = 0
  and not exists (
    select
    from
      customer_contacts
      join jsonb_populate_recordset(null::customer_contacts, $4::jsonb) input on customer_contacts.identifier_type = input.identifier_type
      and customer_contacts.contact_key = input.contact_key
    where
      customer_contacts.organization_id = $3
      and customer_contacts.archived_at is null
  );

-- customers.create_count
-- $1 organizationId, $2 id, $3 contacts
-- rows
insert into
  live_counts (organization_id, resource, slot, live)
select
  customers.organization_id,
  'customers',
  pg_backend_pid() % 16,
  case
    when (
      select
        count(*)
      from
        customer_contacts
      where
        customer_contacts.organization_id = $1
        and customer_contacts.customer_id = $2
    ) = jsonb_array_length($3::jsonb) then 1
  end
from
  customers
where
  customers.organization_id = $1
  and customers.id = $2
on conflict (organization_id, resource, slot) do update
set
  live = live_counts.live + excluded.live;

-- customers.get
-- $1 organizationId, $2 id
-- one JSON body, found by its key
select
  coalesce(
    (
      select
        kept.body
      from
        customer_bodies kept
      where
        kept.organization_id = $1
        and kept.id = customers.id
        and kept.updated_at = customers.updated_at
        and kept.rendering = 147573592
    ),
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
                    customer_contacts.organization_id = $1
                    and customer_contacts.customer_id = customers.id
                  order by
                    customer_contacts.position
                ) item
            ) as contacts,
            to_char(customers.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "createdAt",
            to_char(customers.updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "updatedAt"
        ) item
    )
  ) as body
from
  customers
where
  customers.organization_id = $1
  and customers.id = $2
  and customers.archived_at is null;

-- customers.keep_bodies
-- $1 organizationId, $2 ids
-- rows
insert into
  customer_bodies (organization_id, id, updated_at, rendering, body)
select
  customers.organization_id,
  customers.id,
  customers.updated_at,
  147573592,
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
                  customer_contacts.organization_id = $1
                  and customer_contacts.customer_id = customers.id
                order by
                  customer_contacts.position
              ) item
          ) as contacts,
          to_char(customers.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "createdAt",
          to_char(customers.updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "updatedAt"
      ) item
  )
from
  customers
where
  customers.organization_id = $1
  and customers.id = any ($2::uuid[])
on conflict (organization_id, id) do update
set
  updated_at = excluded.updated_at,
  rendering = excluded.rendering,
  body = excluded.body;

-- customers.keep_contacts
-- $1 contacts, $2 organizationId, $3 id
-- rows
update customer_contacts
set
  identifier_value = input.identifier_value,
  position = input.position,
  phone_number = input.phone_number
from
  jsonb_populate_recordset(null::customer_contacts, $1::jsonb) input
where
  customer_contacts.organization_id = $2
  and customer_contacts.customer_id = $3
  and customer_contacts.identifier_type = input.identifier_type
  and customer_contacts.contact_key = input.contact_key
  and (customer_contacts.identifier_value, customer_contacts.position) is distinct from (input.identifier_value, input.position)
returning
  customer_contacts.id as id;

-- customers.keep_new_body
-- $1 organizationId, $2 id
-- one JSON body
insert into
  customer_bodies as kept (organization_id, id, updated_at, rendering, body)
select
  customers.organization_id,
  customers.id,
  customers.updated_at,
  147573592,
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
                  customer_contacts.organization_id = $1
                  and customer_contacts.customer_id = customers.id
                order by
                  customer_contacts.position
              ) item
          ) as contacts,
          to_char(customers.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "createdAt",
          to_char(customers.updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "updatedAt"
      ) item
  )
from
  customers
where
  customers.organization_id = $1
  and customers.id = $2
returning
  kept.body;

-- customers.list
-- $1 organizationId, $2 limit, $3 offset
-- one JSON body
select
  concat(
    '{"data":[',
    (
      select
        string_agg(
          coalesce(
            (
              select
                kept.body
              from
                customer_bodies kept
              where
                kept.organization_id = $1
                and kept.id = page.id
                and kept.updated_at = page.updated_at
                and kept.rendering = 147573592
            ),
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
                            customer_contacts.organization_id = $1
                            and customer_contacts.customer_id = customers.id
                          order by
                            customer_contacts.position
                        ) item
                    ) as contacts,
                    to_char(customers.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "createdAt",
                    to_char(customers.updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "updatedAt"
                  from
                    customers
                  where
                    customers.organization_id = $1
                    and customers.id = page.id
                ) item
            )
          ),
          ','
        )
      from
        (
          select
            *
          from
            (
              select
                customers.id as id,
                updated_at
              from
                customers
              where
                customers.organization_id = $1
                and customers.archived_at is null
              order by
                customers.updated_at desc nulls last,
                customers.id desc nulls last
              limit
                100
            ) found
          limit
            $2
        ) page
    ),
    '],"pagination":{"limit":',
    $2::int,
    ',"offset":',
    $3::int,
    ',"total":',
    (
      select
        coalesce(sum(live_counts.live), 0)
      from
        live_counts
      where
        live_counts.organization_id = $1
        and live_counts.resource = 'customers'
    ),
    '}}'
  ) as body;

-- customers.list offset
-- $1 organizationId, $2 offset, $3 limit
-- one JSON body
select
  concat(
    '{"data":[',
    (
      select
        string_agg(
          coalesce(
            (
              select
                kept.body
              from
                customer_bodies kept
              where
                kept.organization_id = $1
                and kept.id = page.id
                and kept.updated_at = page.updated_at
                and kept.rendering = 147573592
            ),
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
                            customer_contacts.organization_id = $1
                            and customer_contacts.customer_id = customers.id
                          order by
                            customer_contacts.position
                        ) item
                    ) as contacts,
                    to_char(customers.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "createdAt",
                    to_char(customers.updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "updatedAt"
                  from
                    customers
                  where
                    customers.organization_id = $1
                    and customers.id = page.id
                ) item
            )
          ),
          ','
        )
      from
        (
          select
            *
          from
            (
              select
                customers.id as id,
                updated_at
              from
                customers
              where
                customers.organization_id = $1
                and customers.archived_at is null
              order by
                customers.updated_at desc nulls last,
                customers.id desc nulls last
              limit
                100
              offset
                $2
            ) found
          limit
            $3
        ) page
    ),
    '],"pagination":{"limit":',
    $3::int,
    ',"offset":',
    $2::int,
    ',"total":',
    (
      select
        coalesce(sum(live_counts.live), 0)
      from
        live_counts
      where
        live_counts.organization_id = $1
        and live_counts.resource = 'customers'
    ),
    '}}'
  ) as body;

-- customers.list query
-- $1 organizationId, $2 query, $3 limit, $4 offset
-- one JSON body; a custom plan at each run
select
  concat(
    '{"data":[',
    (
      select
        string_agg(
          coalesce(
            (
              select
                kept.body
              from
                customer_bodies kept
              where
                kept.organization_id = $1
                and kept.id = page.id
                and kept.updated_at = page.updated_at
                and kept.rendering = 147573592
            ),
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
                            customer_contacts.organization_id = $1
                            and customer_contacts.customer_id = customers.id
                          order by
                            customer_contacts.position
                        ) item
                    ) as contacts,
                    to_char(customers.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "createdAt",
                    to_char(customers.updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "updatedAt"
                  from
                    customers
                  where
                    customers.organization_id = $1
                    and customers.id = page.id
                ) item
            )
          ),
          ','
        )
      from
        (
          select
            *
          from
            (
              select
                customers.id as id,
                updated_at
              from
                customers
              where
                customers.organization_id = $1
                and customers.archived_at is null
                and customers.id in (
                  select
                    customers.id
                  from
                    searchable_customers customers
                  where
                    customers.organization_id = $1
                    and customers.archived_at is null
                    and customers.search like contains_pattern ($2)
                )
              order by
                customers.updated_at desc nulls last,
                customers.id desc nulls last
              limit
                100
            ) found
          limit
            $3
        ) page
    ),
    '],"pagination":{"limit":',
    $3::int,
    ',"offset":',
    $4::int,
    ',"total":',
    (
      select
        count(*)
      from
        searchable_customers customers
      where
        customers.organization_id = $1
        and customers.archived_at is null
        and customers.search like contains_pattern ($2)
    ),
    '}}'
  ) as body;

-- customers.list tag
-- $1 organizationId, $2 tag, $3 limit, $4 offset
-- one JSON body; a custom plan at each run
select
  concat(
    '{"data":[',
    (
      select
        string_agg(
          coalesce(
            (
              select
                kept.body
              from
                customer_bodies kept
              where
                kept.organization_id = $1
                and kept.id = page.id
                and kept.updated_at = page.updated_at
                and kept.rendering = 147573592
            ),
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
                            customer_contacts.organization_id = $1
                            and customer_contacts.customer_id = customers.id
                          order by
                            customer_contacts.position
                        ) item
                    ) as contacts,
                    to_char(customers.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "createdAt",
                    to_char(customers.updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "updatedAt"
                  from
                    customers
                  where
                    customers.organization_id = $1
                    and customers.id = page.id
                ) item
            )
          ),
          ','
        )
      from
        (
          select
            *
          from
            (
              select
                customers.id as id,
                updated_at
              from
                customers
              where
                customers.organization_id = $1
                and customers.archived_at is null
                and customers.id in (
                  select
                    customers.id
                  from
                    searchable_customers customers
                  where
                    customers.organization_id = $1
                    and customers.archived_at is null
                    and customers.tags @> array[$2]::text[]
                )
              order by
                customers.updated_at desc nulls last,
                customers.id desc nulls last
              limit
                100
            ) found
          limit
            $3
        ) page
    ),
    '],"pagination":{"limit":',
    $3::int,
    ',"offset":',
    $4::int,
    ',"total":',
    (
      select
        count(*)
      from
        searchable_customers customers
      where
        customers.organization_id = $1
        and customers.archived_at is null
        and customers.tags @> array[$2]::text[]
    ),
    '}}'
  ) as body;

-- customers.lock
-- $1 organizationId, $2 id
-- rows
select
  id as id
from
  customers
where
  customers.organization_id = $1
  and customers.id = $2
  and customers.archived_at is null
for update;

-- customers.lock_for_copies
-- $1 organizationId, $2 ids
-- rows
select
  customers.id as id
from
  customers
where
  customers.organization_id = $1
  and customers.id = any ($2::uuid[])
order by
  customers.id
for update;

-- customers.lock_record
-- $1 organizationId, $2 id
-- rows
select
  id as id
from
  customers
where
  customers.organization_id = $1
  and customers.id = $2
  and customers.archived_at is null
for update;

-- customers.make_searchable
-- $1 organizationId, $2 id
-- rows
insert into
  searchable_customers as searchable (organization_id, id, tags, search, archived_at)
select
  customers.organization_id,
  customers.id,
  customers.tags,
  customers.search,
  customers.archived_at
from
  customers
where
  customers.organization_id = $1
  and customers.id = $2
on conflict (organization_id, id) do update
set
  (tags, search, archived_at) = row (excluded.tags, excluded.search, excluded.archived_at);

-- customers.remove_contacts
-- $1 organizationId, $2 id, $3 contacts
-- rows
delete from customer_contacts
where
  customer_contacts.organization_id = $1
  and customer_contacts.customer_id = $2
  and not exists (
    select
    from
      jsonb_populate_recordset(null::customer_contacts, $3::jsonb) input
    where
      customer_contacts.identifier_type = input.identifier_type
      and customer_contacts.contact_key = input.contact_key
  )
returning
  id as id;

-- customers.stale_bodies
-- $1 organizationId, $2 after, $3 limit
-- rows
select
  customers.id as id,
  kept.id is null as "isFound"
from
  customers
  left join customer_bodies kept on kept.organization_id = $1
  and kept.id = customers.id
  and kept.id > $2
  and kept.updated_at = customers.updated_at
  and kept.rendering = 147573592
where
  customers.organization_id = $1
  and customers.archived_at is null
  and customers.id > $2
order by
  customers.id
limit
  $3;

-- customers.stale_searchable
-- $1 organizationId, $2 after, $3 limit
-- rows
select
  customers.id as id,
  (
    kept.id is null
    or row (kept.tags, kept.search, kept.archived_at) is distinct from row (customers.tags, customers.search, customers.archived_at)
  ) as "isFound"
from
  customers
  left join searchable_customers kept on kept.organization_id = $1
  and kept.id = customers.id
  and kept.id > $2
where
  customers.organization_id = $1
  and true
  and customers.id > $2
order by
  customers.id
limit
  $3;

-- customers.update
-- $1 organizationId, $2 id, $3 patch, $4 relatedChanged
-- one JSON body
with
  stored as (
    select
      customers as record
    from
      customers
    where
      customers.organization_id = $1
      and customers.id = $2
      and customers.archived_at is null
    for update
  ),
  patched as (
    select
      input.*
    from
      stored,
      jsonb_populate_record(stored.record, $3::jsonb) input
  ),
  changed as (
    update customers
    set
      (first_name, last_name, city, country, preferred_language, summary, tags, contact_search) = row (
        patched.first_name,
        patched.last_name,
        patched.city,
        patched.country,
        patched.preferred_language,
        patched.summary,
        patched.tags,
        patched.contact_search
      ),
      updated_at = greatest(now(), (customers.updated_at at time zone 'UTC' + interval '1 millisecond') at time zone 'UTC')
    from
      stored,
      patched
    where
      customers.organization_id = $1
      and customers.id = $2
      and customers.archived_at is null
      and (
        $4::boolean
        or row (
          (stored.record).first_name,
          (stored.record).last_name,
          (stored.record).city,
          (stored.record).country,
          (stored.record).preferred_language,
          (stored.record).summary,
          (stored.record).tags,
          (stored.record).contact_search
        ) is distinct from row (
          patched.first_name,
          patched.last_name,
          patched.city,
          patched.country,
          patched.preferred_language,
          patched.summary,
          patched.tags,
          patched.contact_search
        )
      )
    returning
      customers.*
  ),
  searched as (
    update searchable_customers searchable
    set
      (tags, search, archived_at) = row (changed.tags, changed.search, changed.archived_at)
    from
      changed
    where
      searchable.organization_id = $1
      and searchable.id = changed.id
      and exists (
        select
        from
          stored
        where
          row ((stored.record).tags, (stored.record).search, (stored.record).archived_at) is distinct from row (changed.tags, changed.search, changed.archived_at)
      )
  ),
  rendered as (
    select
      customers.id,
      customers.updated_at,
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
                      customer_contacts.organization_id = $1
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
      (
        select
          *
        from
          changed
        union all
        select
          (record).*
        from
          stored
        where
          not exists (
            select
            from
              changed
          )
      ) customers
  ),
  kept as (
    update customer_bodies kept
    set
      updated_at = rendered.updated_at,
      rendering = 147573592,
      body = rendered.body
    from
      rendered
    where
      kept.organization_id = $1
      and kept.id = rendered.id
      and exists (
        select
        from
          changed
      )
      and (
        select
          customers.updated_at
        from
          customers
        where
          customers.organization_id = $1
          and customers.id = $2
      ) = (
        select
          (record).updated_at
        from
          stored
      )
  )
select
  body
from
  rendered;

-- customers.update_unsearched
-- $1 organizationId, $2 id, $3 patch, $4 relatedChanged
-- one JSON body
with
  stored as (
    select
      customers as record
    from
      customers
    where
      customers.organization_id = $1
      and customers.id = $2
      and customers.archived_at is null
    for update
  ),
  patched as (
    select
      input.*
    from
      stored,
      jsonb_populate_record(stored.record, $3::jsonb) input
  ),
  changed as (
    update customers
    set
      (city, country, preferred_language) = row (patched.city, patched.country, patched.preferred_language),
      updated_at = greatest(now(), (customers.updated_at at time zone 'UTC' + interval '1 millisecond') at time zone 'UTC')
    from
      stored,
      patched
    where
      customers.organization_id = $1
      and customers.id = $2
      and customers.archived_at is null
      and (
        $4::boolean
        or row ((stored.record).city, (stored.record).country, (stored.record).preferred_language) is distinct from row (patched.city, patched.country, patched.preferred_language)
      )
    returning
      customers.*
  ),
  rendered as (
    select
      customers.id,
      customers.updated_at,
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
                      customer_contacts.organization_id = $1
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
      (
        select
          *
        from
          changed
        union all
        select
          (record).*
        from
          stored
        where
          not exists (
            select
            from
              changed
          )
      ) customers
  ),
  kept as (
    update customer_bodies kept
    set
      updated_at = rendered.updated_at,
      rendering = 147573592,
      body = rendered.body
    from
      rendered
    where
      kept.organization_id = $1
      and kept.id = rendered.id
      and exists (
        select
        from
          changed
      )
      and (
        select
          customers.updated_at
        from
          customers
        where
          customers.organization_id = $1
          and customers.id = $2
      ) = (
        select
          (record).updated_at
        from
          stored
      )
  )
select
  body
from
  rendered;

-- customers.wrong_bodies
-- $1 organizationId, $2 after, $3 limit
-- rows
select
  customers.id as id,
  coalesce(
    kept.body <> (
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
                    customer_contacts.organization_id = $1
                    and customer_contacts.customer_id = customers.id
                  order by
                    customer_contacts.position
                ) item
            ) as contacts,
            to_char(customers.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "createdAt",
            to_char(customers.updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "updatedAt"
        ) item
    ),
    false
  ) as "isFound"
from
  customers
  left join customer_bodies kept on kept.organization_id = $1
  and kept.id = customers.id
  and kept.id > $2
  and kept.updated_at = customers.updated_at
  and kept.rendering = 147573592
where
  customers.organization_id = $1
  and customers.archived_at is null
  and customers.id > $2
order by
  customers.id
limit
  $3;
