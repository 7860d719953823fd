-- Made by npm run docs from the repositories; see docs/changing-it.md, "From a URL to SQL".

-- live_counts.add
-- $1 organizationId, $2 resource, $3 amount
insert into
  live_counts (organization_id, resource, slot, live)
values
  ($organizationId, $resource, pg_backend_pid() % 16, $amount)
on conflict (organization_id, resource, slot) do update
set
  live = live_counts.live + excluded.live;

-- live_counts.find_drift
-- $1 organizationId
select
  counted_rows.resource,
  coalesce(counts.live, 0)::float8 as counted,
  counted_rows.live::float8 as rows
from
  (
    select
      'conversations' as resource,
      count(*) as live
    from
      conversations
    where
      conversations.organization_id = $organizationId
      and conversations.continued_by is null
    union all
    select
      'customers' as resource,
      count(*) as live
    from
      customers
    where
      customers.organization_id = $organizationId
      and customers.archived_at is null
    union all
    select
      'opportunities' as resource,
      count(*) as live
    from
      opportunities
    where
      opportunities.organization_id = $organizationId
      and opportunities.archived_at is null
    union all
    select
      'products' as resource,
      count(*) as live
    from
      products
    where
      products.organization_id = $organizationId
      and products.archived_at is null
    union all
    select
      'quotes' as resource,
      count(*) as live
    from
      quotes
    where
      quotes.organization_id = $organizationId
      and quotes.archived_at is null
  ) counted_rows
  left join (
    select
      live_counts.resource as resource,
      sum(live_counts.live) as live
    from
      live_counts
    where
      live_counts.organization_id = $organizationId
    group by
      live_counts.resource
  ) counts using (resource)
where
  counted_rows.live <> coalesce(counts.live, 0)
order by
  resource;
