-- Made by npm run docs from the repositories; see docs/changing-it.md, "From a URL to SQL".

-- organizations.all
select
  id as id,
  name as name,
  to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "createdAt"
from
  organizations
order by
  organizations.created_at,
  organizations.id;

-- organizations.create
-- $1 id, $2 name
insert into
  organizations (id, name, created_at)
values
  ($id, $name, default);

-- organizations.get
-- $1 id
select
  row_to_json(item)::text as body
from
  (
    select
      organizations.id as id,
      organizations.name as name,
      to_char(organizations.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "createdAt"
    from
      organizations
    where
      organizations.id = $id
  ) item;

-- organizations.has_records
-- $1 organizationId
-- a custom plan at each run
select
  exists (
    select
    from
      quote_attachments
    where
      quote_attachments.organization_id = $organizationId
  )
  or exists (
    select
    from
      quotes
    where
      quotes.organization_id = $organizationId
  )
  or exists (
    select
    from
      whatsapp_messages
    where
      whatsapp_messages.organization_id = $organizationId
  )
  or exists (
    select
    from
      channel_messages
    where
      channel_messages.organization_id = $organizationId
  )
  or exists (
    select
    from
      conversations
    where
      conversations.organization_id = $organizationId
  )
  or exists (
    select
    from
      opportunities
    where
      opportunities.organization_id = $organizationId
  )
  or exists (
    select
    from
      customer_contacts
    where
      customer_contacts.organization_id = $organizationId
  )
  or exists (
    select
    from
      customers
    where
      customers.organization_id = $organizationId
  )
  or exists (
    select
    from
      product_variants
    where
      product_variants.organization_id = $organizationId
  )
  or exists (
    select
    from
      products
    where
      products.organization_id = $organizationId
  )
  or exists (
    select
    from
      pipeline_stages
    where
      pipeline_stages.organization_id = $organizationId
  )
  or exists (
    select
    from
      team_members
    where
      team_members.organization_id = $organizationId
  ) as found;

-- organizations.list
-- $1 limit, $2 offset
select
  concat(
    '{"data":[',
    (
      select
        string_agg(organization.body, ',')
      from
        (
          -- … 10 lines as in organizations.get
              order by
                organizations.created_at,
                organizations.id
              limit
                $limit
              offset
                $offset
            ) item
        ) organization
    ),
    '],"pagination":{"limit":',
    $limit::int,
    ',"offset":',
    $offset::int,
    ',"total":',
    (
      select
        count(*)
      from
        organizations
    ),
    '}}'
  ) as body;
