-- Made by npm run docs from the repositories; see docs/changing-it.md, "From a URL to SQL".

-- products.archive
-- $1 organizationId, $2 id
with
  gone as (
    update products
    set
      archived_at = now()
    where
      products.organization_id = $organizationId
      and products.id = $id
      and products.archived_at is null
    returning
      products.id,
      products.archived_at
  ),
  uncounted as (
    update live_counts
    set
      live = live_counts.live - 1
    from
      gone
    where
      live_counts.organization_id = $organizationId
      and live_counts.resource = 'products'
      and live_counts.slot = (
        select
          min(live_counts.slot)
        from
          live_counts
        where
          live_counts.organization_id = $organizationId
          and live_counts.resource = 'products'
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

-- products.create
-- $1 organizationId, $2 id, $3 title, $4 type, $5 status, $6 pricingMode, $7 budgetTier, $8 capacityMin, $9 capacityMax, $10 currency, $11 description, $12 shortDescription, $13 specialConditions, $14 durationDays, $15 durationHours, $16 includes, $17 excludes, $18 externalReferenceCode, $19 fromPrice, $20 priceMax, $21 operator, $22 priceBasis, $23 validFrom, $24 validUntil
insert into
  products (
    organization_id,
    id,
    title,
    type,
    status,
    pricing_mode,
    budget_tier,
    capacity_min,
    capacity_max,
    cover_image,
    currency,
    description,
    short_description,
    special_conditions,
    destinations,
    duration_days,
    duration_hours,
    includes,
    excludes,
    gallery,
    external_reference_code,
    from_price,
    price_max,
    operator,
    price_basis,
    valid_from,
    valid_until,
    created_at,
    updated_at,
    archived_at
  )
values
  (
    $organizationId,
    $id,
    $title,
    $type,
    $status,
    $pricingMode,
    $budgetTier,
    $capacityMin,
    $capacityMax,
    default,
    $currency,
    $description,
    $shortDescription,
    $specialConditions,
    default,
    $durationDays,
    $durationHours,
    $includes,
    $excludes,
    default,
    $externalReferenceCode,
    $fromPrice,
    $priceMax,
    $operator,
    $priceBasis,
    $validFrom,
    $validUntil,
    default,
    default,
    default
  );

-- products.create_variant
-- $1 organizationId, $2 id, $3 productId, $4 label, $5 position, $6 status, $7 capacityMin, $8 capacityMax, $9 currency, $10 description, $11 shortDescription, $12 durationDays, $13 includes, $14 excludes, $15 fromPrice, $16 priceMax
insert into
  product_variants (
    organization_id,
    id,
    product_id,
    label,
    position,
    status,
    capacity_min,
    capacity_max,
    currency,
    description,
    short_description,
    duration_days,
    duration_hours,
    includes,
    excludes,
    from_price,
    price_max
  )
values
  ($organizationId, $id, $productId, $label, $position, $status, $capacityMin, $capacityMax, $currency, $description, $shortDescription, $durationDays, default, $includes, $excludes, $fromPrice, $priceMax);

-- products.drop_read_row
-- $1 organizationId, $2 id
delete from product_bodies
where
  product_bodies.organization_id = $organizationId
  and product_bodies.id = $id;

-- products.drop_search_row
-- $1 organizationId, $2 id
delete from searchable_products
where
  searchable_products.organization_id = $organizationId
  and searchable_products.id = $id;

-- products.due_for_purge
-- $1 before, $2 limit
-- a custom plan at each run
select
  organization_id as "organizationId",
  id as id
from
  products
where
  products.archived_at is not null
  and products.archived_at < $before::timestamptz
order by
  products.archived_at
limit
  $limit;

-- products.forget_body
-- $1 organizationId, $2 id
update product_bodies
set
  rendering = 0
where
  product_bodies.organization_id = $organizationId
  and product_bodies.id = $id
  and rendering = 44438628;

-- products.get
-- $1 organizationId, $2 id
select
  product_bodies.body
from
  product_bodies
where
  product_bodies.organization_id = $organizationId
  and product_bodies.id = $id
  and product_bodies.rendering = 44438628;

-- products.list
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
          product_bodies.id,
          case
            when product_bodies.rendering = 44438628 then product_bodies.body
          end as body
        from
          product_bodies
        where
          product_bodies.organization_id = $organizationId
        order by
          product_bodies.updated_at desc nulls last,
          product_bodies.id desc nulls last
        limit
          100
      ) page
    limit
      $limit
  ) page
limit
  $limit;

-- products.list budgetTier
-- $1 organizationId, $2 budgetTier, $3 limit
-- as products.list, but
--   product_bodies.organization_id = $organizationId
-- + and product_bodies.budget_tier = $budgetTier

-- products.list externalReferenceCode
-- $1 organizationId, $2 externalReferenceCode, $3 limit
-- as products.list, but
--   product_bodies.organization_id = $organizationId
-- + and product_bodies.external_reference_code = $externalReferenceCode

-- products.list offset
-- $1 organizationId, $2 offset, $3 limit
select
  product_bodies.id,
  case
    when product_bodies.rendering = 44438628 then product_bodies.body
  end as body
from
  product_bodies
where
  product_bodies.organization_id = $organizationId
  and product_bodies.id = any (
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
                product_bodies.id as id
              from
                product_bodies
              where
                product_bodies.organization_id = $organizationId
              order by
                product_bodies.updated_at desc nulls last,
                product_bodies.id desc nulls last
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
  product_bodies.updated_at desc nulls last,
  product_bodies.id desc nulls last;

-- products.list query
-- $1 organizationId, $2 query, $3 limit
-- a custom plan at each run
-- as products.list offset, but
--     product_bodies.organization_id = $organizationId
-- +   and product_bodies.id in (
-- +     select
-- +       searchable_products.id
-- +     from
-- +       searchable_products
-- +     where
-- +       searchable_products.organization_id = $organizationId
-- +       and searchable_products.archived_at is null
-- +       and searchable_products.search like contains_pattern ($query)
-- +   )
--     100
-- - offset
-- -   $offset

-- products.list status
-- $1 organizationId, $2 status, $3 limit
-- as products.list, but
--   product_bodies.organization_id = $organizationId
-- + and product_bodies.status = $status

-- products.list type
-- $1 organizationId, $2 type, $3 limit
-- as products.list, but
--   product_bodies.organization_id = $organizationId
-- + and product_bodies.type = $type

-- products.list_archived
-- $1 organizationId, $2 limit
select
  page.id,
  -- … 63 lines as in products.render
          to_char(products.updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "updatedAt",
          to_char(products.archived_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "archivedAt",
          to_char((products.archived_at + interval '720 hours') at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "purgeAt"
        from
          products
        where
          products.organization_id = $organizationId
          and products.id = page.id
      ) item
  ) as body
from
  (
    select
      *
    from
      (
        select
          products.id as id
        from
          products
        where
          products.organization_id = $organizationId
          and products.archived_at is not null
        order by
          products.archived_at desc nulls last,
          products.id desc nulls last
        limit
          100
      ) page
    limit
      $limit
  ) page;

-- products.list_archived budgetTier
-- $1 organizationId, $2 budgetTier, $3 limit
-- as products.list_archived, but
--   and products.archived_at is not null
-- + and products.budget_tier = $budgetTier

-- products.list_archived externalReferenceCode
-- $1 organizationId, $2 externalReferenceCode, $3 limit
-- as products.list_archived, but
--   and products.archived_at is not null
-- + and products.external_reference_code = $externalReferenceCode

-- products.list_archived offset
-- $1 organizationId, $2 offset, $3 limit
-- as products.list_archived, but
--     100
-- + offset
-- +   $offset

-- products.list_archived query
-- $1 organizationId, $2 query, $3 limit
-- a custom plan at each run
-- as products.list_archived, but
--   and products.archived_at is not null
-- + and products.search like contains_pattern ($query)

-- products.list_archived since
-- $1 organizationId, $2 since, $3 limit
-- as products.list_archived, but
--   and products.archived_at is not null
-- + and products.archived_at >= $since::timestamptz

-- products.list_archived status
-- $1 organizationId, $2 status, $3 limit
-- as products.list_archived, but
--   and products.archived_at is not null
-- + and products.status = $status

-- products.list_archived type
-- $1 organizationId, $2 type, $3 limit
-- as products.list_archived, but
--   and products.archived_at is not null
-- + and products.type = $type

-- products.list_archived_total
-- $1 organizationId
select
  count(*) as total
from
  products
where
  products.organization_id = $organizationId
  and products.archived_at is not null;

-- products.list_archived_total budgetTier
-- $1 organizationId, $2 budgetTier
select
  count(*) as total
from
  products
where
  products.organization_id = $organizationId
  and products.archived_at is not null
  and products.budget_tier = $budgetTier;

-- products.list_archived_total externalReferenceCode
-- $1 organizationId, $2 externalReferenceCode
-- as products.list_archived_total budgetTier, but
--   and products.archived_at is not null
-- - and products.budget_tier = $budgetTier;
-- + and products.external_reference_code = $externalReferenceCode;

-- products.list_archived_total query
-- $1 organizationId, $2 query
-- a custom plan at each run
-- as products.list_archived_total budgetTier, but
--   and products.archived_at is not null
-- - and products.budget_tier = $budgetTier;
-- + and products.search like contains_pattern ($query);

-- products.list_archived_total since
-- $1 organizationId, $2 since
-- as products.list_archived_total budgetTier, but
--   and products.archived_at is not null
-- - and products.budget_tier = $budgetTier;
-- + and products.archived_at >= $since::timestamptz;

-- products.list_archived_total status
-- $1 organizationId, $2 status
-- as products.list_archived_total budgetTier, but
--   and products.archived_at is not null
-- - and products.budget_tier = $budgetTier;
-- + and products.status = $status;

-- products.list_archived_total type
-- $1 organizationId, $2 type
-- as products.list_archived_total budgetTier, but
--   and products.archived_at is not null
-- - and products.budget_tier = $budgetTier;
-- + and products.type = $type;

-- products.list_total
-- $1 organizationId
select
  coalesce(sum(live_counts.live), 0) as total
from
  live_counts
where
  live_counts.organization_id = $organizationId
  and live_counts.resource = 'products';

-- products.list_total budgetTier
-- $1 organizationId, $2 budgetTier
select
  count(*) as total
from
  product_bodies
where
  product_bodies.organization_id = $organizationId
  and product_bodies.budget_tier = $budgetTier;

-- products.list_total externalReferenceCode
-- $1 organizationId, $2 externalReferenceCode
-- as products.list_total budgetTier, but
--   product_bodies.organization_id = $organizationId
-- - and product_bodies.budget_tier = $budgetTier;
-- + and product_bodies.external_reference_code = $externalReferenceCode;

-- products.list_total query
-- $1 organizationId, $2 query
-- a custom plan at each run
select
  count(*) as total
from
  searchable_products
where
  searchable_products.organization_id = $organizationId
  and searchable_products.archived_at is null
  and searchable_products.search like contains_pattern ($query);

-- products.list_total status
-- $1 organizationId, $2 status
-- as products.list_total budgetTier, but
--   product_bodies.organization_id = $organizationId
-- - and product_bodies.budget_tier = $budgetTier;
-- + and product_bodies.status = $status;

-- products.list_total type
-- $1 organizationId, $2 type
-- as products.list_total budgetTier, but
--   product_bodies.organization_id = $organizationId
-- - and product_bodies.budget_tier = $budgetTier;
-- + and product_bodies.type = $type;

-- products.lock
-- $1 organizationId, $2 id
select
from
  products
where
  products.organization_id = $organizationId
  and products.id = $id
for update;

-- products.purge
-- $1 organizationId, $2 ids
delete from products
where
  products.organization_id = $organizationId
  and products.id = any ($ids::uuid[]);

-- products.purge_lock
-- $1 organizationId, $2 ids, $3 before
select
  id as id,
  to_char(archived_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "archivedAt"
from
  products
where
  products.organization_id = $organizationId
  and products.id = any ($ids::uuid[])
  and products.archived_at < $before::timestamptz
for update
  skip locked;

-- products.purge_variants
-- $1 organizationId, $2 ids
delete from product_variants
where
  product_variants.organization_id = $organizationId
  and product_variants.product_id = any ($ids::uuid[])
returning
  product_id as "productId";

-- products.put_search_row
-- $1 organizationId, $2 id
insert into
  searchable_products as kept (organization_id, id, type, status, budget_tier, external_reference_code, search, archived_at)
select
  products.organization_id,
  products.id,
  products.type,
  products.status,
  products.budget_tier,
  products.external_reference_code,
  products.search,
  products.archived_at
from
  products
where
  products.organization_id = $organizationId
  and products.id = $id
  and products.archived_at is null
on conflict (organization_id, id) do update
set
  (type, status, budget_tier, external_reference_code, search, archived_at) = row (
    excluded.type,
    excluded.status,
    excluded.budget_tier,
    excluded.external_reference_code,
    excluded.search,
    excluded.archived_at
  )
where
  row (
    kept.type,
    kept.status,
    kept.budget_tier,
    kept.external_reference_code,
    kept.search,
    kept.archived_at
  ) is distinct from row (
    excluded.type,
    excluded.status,
    excluded.budget_tier,
    excluded.external_reference_code,
    excluded.search,
    excluded.archived_at
  );

-- products.refresh
-- $1 organizationId, $2 id
insert into
  product_bodies as kept (
    organization_id,
    id,
    updated_at,
    type,
    status,
    budget_tier,
    external_reference_code,
    rendering,
    body
  )
select
  products.organization_id,
  products.id,
  products.updated_at,
  products.type,
  products.status,
  products.budget_tier,
  products.external_reference_code,
  44438628,
  -- … 65 lines as in products.render
  )
from
  products
where
  products.organization_id = $organizationId
  and products.id = $id
  and products.archived_at is null
  and not exists (
    select
    from
      product_bodies kept
    where
      kept.organization_id = $organizationId
      and kept.id = $id
      and kept.updated_at = products.updated_at
      and kept.rendering = 44438628
  )
on conflict (organization_id, id) do update
set
  (updated_at, type, status, budget_tier, external_reference_code, rendering, body) = row (
    excluded.updated_at,
    excluded.type,
    excluded.status,
    excluded.budget_tier,
    excluded.external_reference_code,
    excluded.rendering,
    excluded.body
  );

-- products.render
-- $1 organizationId, $2 ids
-- a custom plan at each run
select
  products.id,
  (
    select
      row_to_json(item)::text as body
    from
      (
        select
          products.id as id,
          products.title as title,
          products.type as type,
          products.status as status,
          products.pricing_mode as "pricingMode",
          products.budget_tier as "budgetTier",
          products.capacity_min as "capacityMin",
          products.capacity_max as "capacityMax",
          products.cover_image as "coverImage",
          products.currency as currency,
          products.description as description,
          products.short_description as "shortDescription",
          products.special_conditions as "specialConditions",
          products.destinations as destinations,
          products.duration_days as "durationDays",
          products.duration_hours as "durationHours",
          products.includes as includes,
          products.excludes as excludes,
          products.gallery as gallery,
          products.external_reference_code as "externalReferenceCode",
          products.from_price as "fromPrice",
          products.price_max as "priceMax",
          products.operator as operator,
          products.price_basis as "priceBasis",
          products.valid_from as "validFrom",
          products.valid_until as "validUntil",
          (
            select
              concat('[', string_agg(row_to_json(item)::text, ','), ']')::json
            from
              (
                select
                  product_variants.id as id,
                  product_variants.label as label,
                  product_variants.position as position,
                  product_variants.status as status,
                  product_variants.capacity_min as "capacityMin",
                  product_variants.capacity_max as "capacityMax",
                  product_variants.currency as currency,
                  product_variants.description as description,
                  product_variants.short_description as "shortDescription",
                  product_variants.duration_days as "durationDays",
                  product_variants.duration_hours as "durationHours",
                  product_variants.includes as includes,
                  product_variants.excludes as excludes,
                  product_variants.from_price as "fromPrice",
                  product_variants.price_max as "priceMax"
                from
                  product_variants
                where
                  product_variants.organization_id = $organizationId
                  and product_variants.product_id = products.id
                order by
                  product_variants.position
              ) item
          ) as variants,
          to_char(products.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "createdAt",
          to_char(products.updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "updatedAt"
      ) item
  ) as body
from
  products
where
  products.organization_id = $organizationId
  and products.id = any ($ids::uuid[])
  and products.archived_at is null;

-- products.restore
-- $1 organizationId, $2 id
update products
set
  archived_at = null
where
  products.organization_id = $organizationId
  and products.id = $id;

-- products.restore_lock
-- $1 since, $2 organizationId, $3 id
select
  products.archived_at is null as "isLive",
  archived_at >= $since::timestamptz as "isRetained"
from
  products
where
  products.organization_id = $organizationId
  and products.id = $id
for update;

-- products.stale_copies
-- $1 organizationId, $2 after, $3 limit
select
  products.id as id,
  products.archived_at is null as "isVisible",
  case
    when products.archived_at is null then kept.id is null
    or row (kept.updated_at, kept.type, kept.status, kept.budget_tier, kept.external_reference_code) is distinct from row (
      products.updated_at,
      products.type,
      products.status,
      products.budget_tier,
      products.external_reference_code
    )
    or searched.id is null
    or row (
      searched.type,
      searched.status,
      searched.budget_tier,
      searched.external_reference_code,
      searched.search,
      searched.archived_at
    ) is distinct from row (
      products.type,
      products.status,
      products.budget_tier,
      products.external_reference_code,
      products.search,
      products.archived_at
    )
    or not kept.rendering = 44438628
    else kept.id is not null
    or (
      searched.id is not null
      and searched.archived_at is null
    )
  end as "isFound"
from
  products
  left join product_bodies kept on kept.organization_id = $organizationId
  and kept.id = products.id
  and kept.id > $after
  left join searchable_products searched on searched.organization_id = $organizationId
  and searched.id = products.id
  and searched.id > $after
where
  products.organization_id = $organizationId
  and products.id > $after
order by
  products.id
limit
  $limit;

-- products.update
-- $1 title, $2 type, $3 status, $4 pricingMode, $5 budgetTier, $6 capacityMin, $7 capacityMax, $8 currency, $9 description, $10 shortDescription, $11 specialConditions, $12 operator, $13 priceBasis, $14 externalReferenceCode, $15 durationDays, $16 durationHours, $17 includes, $18 excludes, $19 fromPrice, $20 priceMax, $21 validFrom, $22 validUntil, $23 organizationId, $24 id
update products
set
  title = $title,
  type = $type,
  status = $status,
  pricing_mode = $pricingMode,
  budget_tier = $budgetTier,
  capacity_min = $capacityMin,
  capacity_max = $capacityMax,
  currency = $currency,
  description = $description,
  short_description = $shortDescription,
  special_conditions = $specialConditions,
  operator = $operator,
  price_basis = $priceBasis,
  external_reference_code = $externalReferenceCode,
  duration_days = $durationDays,
  duration_hours = $durationHours,
  includes = $includes,
  excludes = $excludes,
  from_price = $fromPrice,
  price_max = $priceMax,
  valid_from = $validFrom,
  valid_until = $validUntil,
  updated_at = greatest(now(), (products.updated_at at time zone 'UTC' + interval '1 millisecond') at time zone 'UTC')
where
  products.organization_id = $organizationId
  and products.id = $id
  and products.archived_at is null
  and row (
    products.title,
    products.type,
    products.status,
    products.pricing_mode,
    products.budget_tier,
    products.capacity_min,
    products.capacity_max,
    products.currency,
    products.description,
    products.short_description,
    products.special_conditions,
    products.operator,
    products.price_basis,
    products.external_reference_code,
    products.duration_days,
    products.duration_hours,
    products.includes,
    products.excludes,
    products.from_price,
    products.price_max,
    products.valid_from,
    products.valid_until
  ) is distinct from row ($title, $type, $status, $pricingMode, $budgetTier, $capacityMin, $capacityMax, $currency, $description, $shortDescription, $specialConditions, $operator, $priceBasis, $externalReferenceCode, $durationDays, $durationHours, $includes, $excludes, $fromPrice, $priceMax, $validFrom, $validUntil);

-- products.update_media
-- $1 coverImage, $2 gallery, $3 destinations, $4 organizationId, $5 id
update products
set
  cover_image = $coverImage,
  gallery = $gallery,
  destinations = $destinations,
  updated_at = greatest(now(), (products.updated_at at time zone 'UTC' + interval '1 millisecond') at time zone 'UTC')
where
  products.organization_id = $organizationId
  and products.id = $id
  and products.archived_at is null
  and row (products.cover_image, products.gallery, products.destinations) is distinct from row ($coverImage, $gallery, $destinations);

-- products.wrong_copies
-- $1 organizationId, $2 after, $3 limit
select
  products.id as id,
  products.archived_at is null as "isVisible",
  case
    when products.archived_at is null then kept.id is null
    or row (kept.updated_at, kept.type, kept.status, kept.budget_tier, kept.external_reference_code) is distinct from row (
      products.updated_at,
      products.type,
      products.status,
      products.budget_tier,
      products.external_reference_code
    )
    or searched.id is null
    or row (
      searched.type,
      searched.status,
      searched.budget_tier,
      searched.external_reference_code,
      searched.search,
      searched.archived_at
    ) is distinct from row (
      products.type,
      products.status,
      products.budget_tier,
      products.external_reference_code,
      products.search,
      products.archived_at
    )
    or (
      kept.rendering = 44438628
      and kept.body <> (
        -- … 64 lines as in products.render
      )
    )
    else kept.id is not null
    or (
      searched.id is not null
      and searched.archived_at is null
    )
  end as "isFound"
from
  products
  left join product_bodies kept on kept.organization_id = $organizationId
  and kept.id = products.id
  and kept.id > $after
  left join searchable_products searched on searched.organization_id = $organizationId
  and searched.id = products.id
  and searched.id > $after
where
  products.organization_id = $organizationId
  and products.id > $after
order by
  products.id
limit
  $limit;
