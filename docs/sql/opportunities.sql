-- Made by npm run docs from the repositories; see docs/changing-it.md, "From a URL to SQL".

-- opportunities.archive
-- $1 organizationId, $2 id
with
  gone as (
    update opportunities
    set
      archived_at = now()
    where
      opportunities.organization_id = $organizationId
      and opportunities.id = $id
      and opportunities.archived_at is null
    returning
      opportunities.id,
      opportunities.archived_at
  ),
  uncounted as (
    update live_counts
    set
      live = live_counts.live - 1
    from
      gone
    where
      live_counts.organization_id = $organizationId
      and live_counts.resource = 'opportunities'
      and live_counts.slot = (
        select
          min(live_counts.slot)
        from
          live_counts
        where
          live_counts.organization_id = $organizationId
          and live_counts.resource = 'opportunities'
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

-- opportunities.customer
-- $1 organizationId, $2 id
select
  customer_id as "customerId"
from
  opportunities
where
  opportunities.organization_id = $organizationId
  and opportunities.id = $id;

-- opportunities.get
-- $1 organizationId, $2 id
select
  row_to_json(item)::text as body
from
  (
    select
      opportunities.id as id,
      opportunities.title as title,
      opportunities.short_ref as "shortRef",
      opportunities.destination as destination,
      opportunities.customer_id as "customerId",
      nullif(concat_ws(' ', nullif(customers.first_name, ''), nullif(customers.last_name, '')), '') as "customerName",
      opportunities.seller_member_id as "sellerMemberId",
      team_members.name as "sellerName",
      opportunities.budget_min as "budgetMin",
      opportunities.budget_max as "budgetMax",
      opportunities.budget_currency as "budgetCurrency",
      opportunities.check_in_date as "checkInDate",
      opportunities.nights as nights,
      opportunities.passenger_count as "passengerCount",
      opportunities.sales_stage as "salesStage",
      pipeline_stages.key as stage,
      opportunities.stage_id as "stageId",
      coalesce(opportunities.temperature_override, opportunities.temperature) as temperature,
      to_char(opportunities.qualified_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "qualifiedAt",
      to_char(opportunities.last_activity_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "lastActivityAt",
      to_char(opportunities.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "createdAt",
      to_char(opportunities.updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "updatedAt"
    from
      opportunities
      left join customers on customers.organization_id = opportunities.organization_id
      and customers.id = opportunities.customer_id
      left join team_members on team_members.organization_id = opportunities.organization_id
      and team_members.id = opportunities.seller_member_id
      left join pipeline_stages on pipeline_stages.organization_id = opportunities.organization_id
      and pipeline_stages.id = opportunities.stage_id
    where
      opportunities.organization_id = $organizationId
      and opportunities.id = $id
      and opportunities.archived_at is null
  ) item;

-- opportunities.list
-- $1 organizationId, $2 limit
select
  page.id,
  (
    -- … 37 lines as in opportunities.get
          and opportunities.id = page.id
      ) item
  ) as body
from
  (
    select
      *
    from
      (
        select
          opportunities.id as id
        from
          opportunities
        where
          opportunities.organization_id = $organizationId
          and opportunities.archived_at is null
        order by
          opportunities.updated_at desc nulls last,
          opportunities.id desc nulls last
        limit
          100
      ) page
    limit
      $limit
  ) page;

-- opportunities.list customerId
-- $1 organizationId, $2 customerId, $3 limit
-- as opportunities.list, but
--   and opportunities.archived_at is null
-- + and opportunities.customer_id = $customerId

-- opportunities.list offset
-- $1 organizationId, $2 offset, $3 limit
-- as opportunities.list, but
--     100
-- + offset
-- +   $offset

-- opportunities.list query
-- $1 organizationId, $2 query, $3 limit
-- a custom plan at each run
-- as opportunities.list, but
--   and opportunities.archived_at is null
-- + and opportunities.search like contains_pattern ($query)

-- opportunities.list salesStage
-- $1 organizationId, $2 salesStage, $3 limit
-- as opportunities.list, but
--   and opportunities.archived_at is null
-- + and opportunities.sales_stage = $salesStage

-- opportunities.list sellerMemberId
-- $1 organizationId, $2 sellerMemberId, $3 limit
-- as opportunities.list, but
--   and opportunities.archived_at is null
-- + and opportunities.seller_member_id = $sellerMemberId

-- opportunities.list stageId
-- $1 organizationId, $2 stageId, $3 limit
-- as opportunities.list, but
--   and opportunities.archived_at is null
-- + and opportunities.stage_id = $stageId

-- opportunities.list temperature
-- $1 organizationId, $2 temperature, $3 limit
-- as opportunities.list, but
--   and opportunities.archived_at is null
-- + and coalesce(opportunities.temperature_override, opportunities.temperature) = $temperature

-- opportunities.list_total
-- $1 organizationId
select
  coalesce(sum(live_counts.live), 0) as total
from
  live_counts
where
  live_counts.organization_id = $organizationId
  and live_counts.resource = 'opportunities';

-- opportunities.list_total customerId
-- $1 organizationId, $2 customerId
select
  count(*) as total
from
  opportunities
where
  opportunities.organization_id = $organizationId
  and opportunities.archived_at is null
  and opportunities.customer_id = $customerId;

-- opportunities.list_total query
-- $1 organizationId, $2 query
-- a custom plan at each run
-- as opportunities.list_total customerId, but
--   and opportunities.archived_at is null
-- - and opportunities.customer_id = $customerId;
-- + and opportunities.search like contains_pattern ($query);

-- opportunities.list_total salesStage
-- $1 organizationId, $2 salesStage
-- as opportunities.list_total customerId, but
--   and opportunities.archived_at is null
-- - and opportunities.customer_id = $customerId;
-- + and opportunities.sales_stage = $salesStage;

-- opportunities.list_total sellerMemberId
-- $1 organizationId, $2 sellerMemberId
-- as opportunities.list_total customerId, but
--   and opportunities.archived_at is null
-- - and opportunities.customer_id = $customerId;
-- + and opportunities.seller_member_id = $sellerMemberId;

-- opportunities.list_total stageId
-- $1 organizationId, $2 stageId
-- as opportunities.list_total customerId, but
--   and opportunities.archived_at is null
-- - and opportunities.customer_id = $customerId;
-- + and opportunities.stage_id = $stageId;

-- opportunities.list_total temperature
-- $1 organizationId, $2 temperature
-- as opportunities.list_total customerId, but
--   and opportunities.archived_at is null
-- - and opportunities.customer_id = $customerId;
-- + and coalesce(opportunities.temperature_override, opportunities.temperature) = $temperature;

-- opportunities.lock
-- $1 organizationId, $2 id
select
from
  opportunities
where
  opportunities.organization_id = $organizationId
  and opportunities.id = $id
for update;

-- opportunities.put_insert
-- $1 organizationId, $2 id, $3 title, $4 shortRef, $5 destination, $6 customerId, $7 sellerMemberId, $8 budgetMin, $9 budgetMax, $10 budgetCurrency, $11 checkInDate, $12 nights, $13 passengerCount, $14 salesStage, $15 stageId, $16 temperature, $17 temperatureOverride, $18 qualifiedAt, $19 lastActivityAt
insert into
  opportunities (
    organization_id,
    id,
    title,
    short_ref,
    destination,
    customer_id,
    seller_member_id,
    budget_min,
    budget_max,
    budget_currency,
    check_in_date,
    nights,
    passenger_count,
    sales_stage,
    stage_id,
    temperature,
    temperature_override,
    qualified_at,
    last_activity_at,
    created_at,
    updated_at,
    archived_at
  )
values
  (
    $organizationId,
    $id,
    $title,
    $shortRef,
    $destination,
    $customerId,
    $sellerMemberId,
    $budgetMin,
    $budgetMax,
    $budgetCurrency,
    $checkInDate,
    $nights,
    $passengerCount,
    $salesStage,
    $stageId,
    $temperature,
    $temperatureOverride,
    $qualifiedAt,
    $lastActivityAt,
    default,
    default,
    default
  )
on conflict do nothing
returning
  id as id;

-- opportunities.put_lock
-- $1 organizationId, $2 id
select
  archived_at is not null as "isArchived",
  customer_id as "customerId",
  seller_member_id as "sellerMemberId",
  stage_id as "stageId"
from
  opportunities
where
  opportunities.organization_id = $organizationId
  and opportunities.id = $id
for update;

-- opportunities.put_references
-- $1 organizationId, $2 customerId, $3 sellerMemberId, $4 stageId
select
  exists (
    select
    from
      customers
    where
      customers.organization_id = $organizationId
      and customers.id = $customerId
      and customers.archived_at is null
  ) as "customerId",
  exists (
    select
    from
      team_members
    where
      team_members.organization_id = $organizationId
      and team_members.id = $sellerMemberId
      and team_members.archived_at is null
  ) as "sellerMemberId",
  exists (
    select
    from
      pipeline_stages
    where
      pipeline_stages.organization_id = $organizationId
      and pipeline_stages.id = $stageId
      and pipeline_stages.archived_at is null
  ) as "stageId";

-- opportunities.put_replace
-- $1 title, $2 shortRef, $3 destination, $4 customerId, $5 sellerMemberId, $6 budgetMin, $7 budgetMax, $8 budgetCurrency, $9 checkInDate, $10 nights, $11 passengerCount, $12 salesStage, $13 stageId, $14 temperature, $15 temperatureOverride, $16 qualifiedAt, $17 lastActivityAt, $18 organizationId, $19 id
update opportunities
set
  title = $title,
  short_ref = $shortRef,
  destination = $destination,
  customer_id = $customerId,
  seller_member_id = $sellerMemberId,
  budget_min = $budgetMin,
  budget_max = $budgetMax,
  budget_currency = $budgetCurrency,
  check_in_date = $checkInDate,
  nights = $nights,
  passenger_count = $passengerCount,
  sales_stage = $salesStage,
  stage_id = $stageId,
  temperature = $temperature,
  temperature_override = $temperatureOverride,
  qualified_at = $qualifiedAt,
  last_activity_at = $lastActivityAt,
  updated_at = greatest(now(), (opportunities.updated_at at time zone 'UTC' + interval '1 millisecond') at time zone 'UTC'),
  archived_at = null
where
  (
    opportunities.organization_id = $organizationId
    and opportunities.id = $id
    and (
      opportunities.archived_at is not null
      or row (
        opportunities.title,
        opportunities.short_ref,
        opportunities.destination,
        opportunities.customer_id,
        opportunities.seller_member_id,
        opportunities.budget_min,
        opportunities.budget_max,
        opportunities.budget_currency,
        opportunities.check_in_date,
        opportunities.nights,
        opportunities.passenger_count,
        opportunities.sales_stage,
        opportunities.stage_id,
        opportunities.temperature,
        opportunities.temperature_override,
        opportunities.qualified_at,
        opportunities.last_activity_at
      ) is distinct from row ($title, $shortRef, $destination, $customerId, $sellerMemberId, $budgetMin, $budgetMax, $budgetCurrency, $checkInDate, $nights, $passengerCount, $salesStage, $stageId, $temperature, $temperatureOverride, $qualifiedAt, $lastActivityAt)
    )
  );
