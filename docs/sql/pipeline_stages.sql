-- Made by npm run docs from the repositories; see docs/changing-it.md, "From a URL to SQL".

-- pipeline_stages.archive
-- $1 organizationId, $2 id
with
  gone as (
    update pipeline_stages
    set
      archived_at = now()
    where
      pipeline_stages.organization_id = $organizationId
      and pipeline_stages.id = $id
      and pipeline_stages.archived_at is null
    returning
      pipeline_stages.id,
      pipeline_stages.archived_at
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

-- pipeline_stages.get
-- $1 organizationId, $2 id
select
  row_to_json(item)::text as body
from
  (
    select
      pipeline_stages.id as id,
      pipeline_stages.key as key,
      pipeline_stages.name as name,
      pipeline_stages.position as position
    from
      pipeline_stages
    where
      pipeline_stages.organization_id = $organizationId
      and pipeline_stages.id = $id
      and pipeline_stages.archived_at is null
  ) item;

-- pipeline_stages.lock
-- $1 organizationId, $2 id
select
from
  pipeline_stages
where
  pipeline_stages.organization_id = $organizationId
  and pipeline_stages.id = $id
for update;

-- pipeline_stages.put_insert
-- $1 organizationId, $2 id, $3 key, $4 name, $5 position
insert into
  pipeline_stages (organization_id, id, key, name, position, created_at, updated_at, archived_at)
values
  ($organizationId, $id, $key, $name, $position, default, default, default)
on conflict do nothing
returning
  id as id;

-- pipeline_stages.put_lock
-- $1 organizationId, $2 id
select
  archived_at is not null as "isArchived"
from
  pipeline_stages
where
  pipeline_stages.organization_id = $organizationId
  and pipeline_stages.id = $id
for update;

-- pipeline_stages.put_references
select;

-- pipeline_stages.put_replace
-- $1 key, $2 name, $3 position, $4 organizationId, $5 id
update pipeline_stages
set
  key = $key,
  name = $name,
  position = $position,
  updated_at = greatest(
    now(),
    (pipeline_stages.updated_at at time zone 'UTC' + interval '1 millisecond') at time zone 'UTC'
  ),
  archived_at = null
where
  (
    pipeline_stages.organization_id = $organizationId
    and pipeline_stages.id = $id
    and (
      pipeline_stages.archived_at is not null
      or row (pipeline_stages.key, pipeline_stages.name, pipeline_stages.position) is distinct from row ($key, $name, $position)
    )
  );
