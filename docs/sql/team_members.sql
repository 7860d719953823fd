-- Made by npm run docs from the repositories; see docs/changing-it.md.

-- team_members.archive
-- $1 organizationId, $2 id
-- one JSON body
with
  team_members as (
    update team_members
    set
      archived_at = now()
    where
      team_members.organization_id = $1
      and team_members.id = $2
      and team_members.archived_at is null
    returning
      *
  )
select
  row_to_json(item)::text as body
from
  (
    select
      team_members.id as id,
      to_char(team_members.archived_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "archivedAt"
    from
      team_members
  ) item;

-- team_members.get
-- $1 organizationId, $2 id
-- one JSON body, found by its key
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
      team_members.organization_id = $1
      and team_members.id = $2
      and team_members.archived_at is null
  ) item;

-- team_members.list
-- $1 organizationId, $2 limit, $3 offset
-- one JSON body
select
  concat(
    '{"data":[',
    (
      select
        string_agg(
          (
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
                  team_members.organization_id = $1
                  and team_members.id = page.id
              ) item
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
                team_members.id as id
              from
                team_members
              where
                team_members.organization_id = $1
                and team_members.archived_at is null
              order by
                team_members.created_at,
                team_members.id
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
        count(*)
      from
        team_members
      where
        team_members.organization_id = $1
        and team_members.archived_at is null
    ),
    '}}'
  ) as body;

-- team_members.list offset
-- $1 organizationId, $2 offset, $3 limit
-- one JSON body
select
  concat(
    '{"data":[',
    (
      select
        string_agg(
          (
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
                  team_members.organization_id = $1
                  and team_members.id = page.id
              ) item
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
                team_members.id as id
              from
                team_members
              where
                team_members.organization_id = $1
                and team_members.archived_at is null
              order by
                team_members.created_at,
                team_members.id
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
        count(*)
      from
        team_members
      where
        team_members.organization_id = $1
        and team_members.archived_at is null
    ),
    '}}'
  ) as body;

-- team_members.lock_record
-- $1 organizationId, $2 id
-- rows
select
  id as id
from
  team_members
where
  team_members.organization_id = $1
  and team_members.id = $2
  and team_members.archived_at is null
for update;

-- team_members.put_insert
-- $1 organizationId, $2 id, $3 userId, $4 name, $5 email, $6 roles, $7 isAssignable
-- rows
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
  ($1, $2, $3, $4, $5, $6, $7, default, default, default)
on conflict do nothing
returning
  id as id;

-- team_members.put_lock
-- $1 organizationId, $2 id
-- rows
select
  archived_at is not null as "isArchived"
from
  team_members
where
  team_members.organization_id = $1
  and team_members.id = $2
for update;

-- team_members.put_references
-- rows
select;

-- team_members.put_replace
-- $1 userId, $2 name, $3 email, $4 roles, $5 isAssignable, $6 organizationId, $7 id
-- rows
update team_members
set
  user_id = $1,
  name = $2,
  email = $3,
  roles = $4,
  is_assignable = $5,
  updated_at = greatest(now(), (team_members.updated_at at time zone 'UTC' + interval '1 millisecond') at time zone 'UTC'),
  archived_at = null
where
  (
    team_members.organization_id = $6
    and team_members.id = $7
    and (
      team_members.archived_at is not null
      or row (
        team_members.user_id,
        team_members.name,
        team_members.email,
        team_members.roles,
        team_members.is_assignable
      ) is distinct from row ($1, $2, $3, $4, $5)
    )
  );
