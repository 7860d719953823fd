-- Made by npm run docs from the repositories; see docs/changing-it.md, "From a URL to SQL".

-- idempotency_keys.due_for_sweep
-- $1 limit
-- a custom plan at each run
select
  organization_id as "organizationId",
  fingerprint as fingerprint
from
  idempotency_keys
where
  not (idempotency_keys.created_at > now() - interval '24 hours')
order by
  idempotency_keys.created_at
limit
  $limit;

-- idempotency_keys.find
-- $1 organizationId, $2 fingerprint
select
  status as status,
  headers as headers,
  body as body,
  body_hash as "bodyHash"
from
  idempotency_keys
where
  idempotency_keys.organization_id = $organizationId
  and idempotency_keys.fingerprint = $fingerprint
  and idempotency_keys.created_at > now() - interval '24 hours';

-- idempotency_keys.keep
-- $1 organizationId, $2 fingerprint, $3 bodyHash, $4 status, $5 headers, $6 body
insert into
  idempotency_keys (organization_id, fingerprint, body_hash, status, headers, body)
values
  ($organizationId, $fingerprint, $bodyHash, $status, $headers, $body)
on conflict (organization_id, fingerprint) do update
set
  body_hash = excluded.body_hash,
  status = excluded.status,
  headers = excluded.headers,
  body = excluded.body,
  created_at = excluded.created_at
where
  idempotency_keys.created_at at time zone 'UTC' <= excluded.created_at at time zone 'UTC' - interval '24 hours'
returning
  true as kept;

-- idempotency_keys.lock
-- $1 lock
select
  pg_try_advisory_xact_lock($lock::bigint) as "isLocked";

-- idempotency_keys.sweep
-- $1 organizationId, $2 fingerprints
delete from idempotency_keys
where
  idempotency_keys.organization_id = $organizationId
  and idempotency_keys.fingerprint = any ($fingerprints::bytea[])
  and not (idempotency_keys.created_at > now() - interval '24 hours')
returning
  true as swept;
