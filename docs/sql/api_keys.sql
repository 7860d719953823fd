-- Made by npm run docs from the repositories; see docs/changing-it.md, "From a URL to SQL".

-- api_keys.find
-- $1 hashes
select
  encode(hash, 'hex') as hash,
  id as id,
  organization_id as "organizationId",
  access as access,
  requests_per_minute as "requestsPerMinute",
  (
    extract(
      epoch
      from
        expires_at - now()
    ) * 1000
  )::float8 as lifetime
from
  api_keys
where
  api_keys.hash = any ($hashes::bytea[])
  and api_keys.revoked_at is null
  and (
    api_keys.expires_at is null
    or api_keys.expires_at > now()
  );

-- api_keys.get
-- $1 organizationId, $2 id
select
  row_to_json(item)::text as body
from
  (
    select
      api_keys.id as id,
      api_keys.name as name,
      api_keys.start as start,
      api_keys.last4 as last4,
      api_keys.access as access,
      api_keys.requests_per_minute as "requestsPerMinute",
      to_char(api_keys.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "createdAt",
      to_char(api_keys.last_used_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "lastUsedAt",
      to_char(api_keys.expires_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "expiresAt",
      to_char(api_keys.revoked_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "revokedAt",
      api_keys.replaced_by as "replacedBy"
    from
      api_keys
    where
      api_keys.organization_id = $organizationId
      and api_keys.id = $id
      and true
  ) item;

-- api_keys.issue
-- $1 organizationId, $2 id, $3 name, $4 hash, $5 start, $6 last4, $7 access, $8 requestsPerMinute, $9 expiresAt
insert into
  api_keys (organization_id, id, name, hash, start, last4, access, requests_per_minute, expires_at)
values
  ($organizationId, $id, $name, decode($hash, 'hex'), $start, $last4, $access, $requestsPerMinute, $expiresAt);

-- api_keys.list
-- $1 organizationId, $2 limit
select
  page.id,
  (
    -- … 20 lines as in api_keys.get
          and api_keys.id = page.id
      ) item
  ) as body
from
  (
    select
      *
    from
      (
        select
          api_keys.id as id
        from
          api_keys
        where
          api_keys.organization_id = $organizationId
          and true
        order by
          api_keys.created_at desc nulls last,
          api_keys.id desc nulls last
        limit
          100
      ) page
    limit
      $limit
  ) page;

-- api_keys.list offset
-- $1 organizationId, $2 offset, $3 limit
-- as api_keys.list, but
--     100
-- + offset
-- +   $offset

-- api_keys.list_total
-- $1 organizationId
select
  count(*) as total
from
  api_keys
where
  api_keys.organization_id = $organizationId
  and true;

-- api_keys.lock
-- $1 organizationId, $2 id
select
from
  api_keys
where
  api_keys.organization_id = $organizationId
  and api_keys.id = $id
for update;

-- api_keys.replace
-- $1 overlapSeconds, $2 replacedBy, $3 organizationId, $4 id
update api_keys
set
  expires_at = least(api_keys.expires_at, now() + make_interval(secs => $overlapSeconds)),
  replaced_by = $replacedBy
where
  api_keys.organization_id = $organizationId
  and api_keys.id = $id
  and api_keys.revoked_at is null
  and (
    api_keys.expires_at is null
    or api_keys.expires_at > now()
  )
  and api_keys.replaced_by is null
returning
  id;

-- api_keys.revoke
-- $1 organizationId, $2 id
update api_keys
set
  revoked_at = now()
where
  api_keys.organization_id = $organizationId
  and api_keys.id = $id
  and api_keys.revoked_at is null;

-- api_keys.save_usage
-- $1 usage
update api_keys
set
  last_used_at = used.at
from
  jsonb_to_recordset($usage::jsonb) as used (organization_id uuid, id uuid, at timestamptz, minute timestamptz)
where
  api_keys.organization_id = used.organization_id
  and api_keys.id = used.id
  and (
    api_keys.last_used_at is null
    or api_keys.last_used_at < used.minute
  );
