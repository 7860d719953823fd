-- Made by npm run docs from the repositories; see docs/changing-it.md, "From a URL to SQL".

-- team_members.archive
-- $1 organizationId, $2 id
with
  gone as (
    update team_members
    set
      archived_at = now()
    where
      team_members.organization_id = $organizationId
      and team_members.id = $id
      and team_members.archived_at is null
    returning
      team_members.id,
      team_members.archived_at
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

-- team_members.get
-- $1 organizationId, $2 id
select
  row_to_json(item)::text as body
from
  (
    select
      team_members.id as id,
      team_members.user_id as "userId",
      team_members.name as name,
      team_members.email as email,
      team_members.roles as roles,
      team_members.is_assignable as "isAssignable",
      to_char(team_members.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "createdAt"
    from
      team_members
    where
      team_members.organization_id = $organizationId
      and team_members.id = $id
      and team_members.archived_at is null
  ) item;

-- team_members.list
-- $1 organizationId, $2 limit
select
  page.id,
  (
    -- … 16 lines as in team_members.get
          and team_members.id = page.id
      ) item
  ) as body
from
  (
    select
      *
    from
      (
        select
          team_members.id as id
        from
          team_members
        where
          team_members.organization_id = $organizationId
          and team_members.archived_at is null
        order by
          team_members.created_at asc,
          team_members.id asc
        limit
          100
      ) page
    limit
      $limit
  ) page;

-- team_members.list offset
-- $1 organizationId, $2 offset, $3 limit
-- as team_members.list, but
--     100
-- + offset
-- +   $offset

-- team_members.list_total
-- $1 organizationId
select
  count(*) as total
from
  team_members
where
  team_members.organization_id = $organizationId
  and team_members.archived_at is null;

-- team_members.lock
-- $1 organizationId, $2 id
select
from
  team_members
where
  team_members.organization_id = $organizationId
  and team_members.id = $id
for update;

-- team_members.put_insert
-- $1 organizationId, $2 id, $3 userId, $4 name, $5 email, $6 roles, $7 isAssignable
insert into
  team_members (
    organization_id,
    id,
    user_id,
    name,
    email,
    roles,
    is_assignable,
    created_at,
    updated_at,
    archived_at
  )
values
  ($organizationId, $id, $userId, $name, $email, $roles, $isAssignable, default, default, default)
on conflict do nothing
returning
  id as id;

-- team_members.put_lock
-- $1 organizationId, $2 id
select
  archived_at is not null as "isArchived"
from
  team_members
where
  team_members.organization_id = $organizationId
  and team_members.id = $id
for update;

-- team_members.put_references
select;

-- team_members.put_replace
-- $1 userId, $2 name, $3 email, $4 roles, $5 isAssignable, $6 organizationId, $7 id
update team_members
set
  user_id = $userId,
  name = $name,
  email = $email,
  roles = $roles,
  is_assignable = $isAssignable,
  updated_at = greatest(now(), (team_members.updated_at at time zone 'UTC' + interval '1 millisecond') at time zone 'UTC'),
  archived_at = null
where
  (
    team_members.organization_id = $organizationId
    and team_members.id = $id
    and (
      team_members.archived_at is not null
      or row (
        team_members.user_id,
        team_members.name,
        team_members.email,
        team_members.roles,
        team_members.is_assignable
      ) is distinct from row ($userId, $name, $email, $roles, $isAssignable)
    )
  );
