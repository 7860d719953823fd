-- Made by npm run docs from the repositories; see docs/changing-it.md.

-- products.archive
-- $1 organizationId, $2 id
-- one JSON body
with
  products as (
    update products
    set
      archived_at = now()
    where
      products.organization_id = $1
      and products.id = $2
      and products.archived_at is null
    returning
      *
  ),
  searched as (
    update searchable_products searchable
    set
      (type, status, budget_tier, external_reference_code, search, archived_at) = row (
        products.type,
        products.status,
        products.budget_tier,
        products.external_reference_code,
        products.search,
        products.archived_at
      )
    from
      products
    where
      searchable.organization_id = $1
      and searchable.id = products.id
  ),
  counted as (
    update live_counts
    set
      live = live_counts.live - gone.amount
    from
      (
        select
          count(*)
        from
          products
      ) gone (amount)
    where
      live_counts.organization_id = $1
      and live_counts.resource = 'products'
      and gone.amount > 0
      and live_counts.slot = (
        select
          live_counts.slot
        from
          live_counts
        where
          live_counts.organization_id = $1
          and live_counts.resource = 'products'
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
      products.id as id,
      to_char(products.archived_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "archivedAt"
    from
      products
  ) item;

-- products.copy_searchable
-- $1 organizationId, $2 ids
-- rows
insert into
  searchable_products as searchable (organization_id, id, type, status, budget_tier, external_reference_code, search, archived_at)
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
  products.organization_id = $1
  and products.id = any ($2::uuid[])
on conflict (organization_id, id) do update
set
  (type, status, budget_tier, external_reference_code, search, archived_at) = row (
    excluded.type,
    excluded.status,
    excluded.budget_tier,
    excluded.external_reference_code,
    excluded.search,
    excluded.archived_at
  );

-- products.create
-- $1 organizationId, $2 id, $3 title, $4 type, $5 status, $6 pricingMode, $7 budgetTier, $8 capacityMin, $9 capacityMax, $10 currency, $11 description, $12 shortDescription, $13 specialConditions, $14 durationDays, $15 durationHours, $16 includes, $17 excludes, $18 externalReferenceCode, $19 fromPrice, $20 priceMax, $21 operator, $22 priceBasis, $23 validFrom, $24 validUntil
-- rows
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
    $1,
    $2,
    $3,
    $4,
    $5,
    $6,
    $7,
    $8,
    $9,
    default,
    $10,
    $11,
    $12,
    $13,
    default,
    $14,
    $15,
    $16,
    $17,
    default,
    $18,
    $19,
    $20,
    $21,
    $22,
    $23,
    $24,
    default,
    default,
    default
  );

-- products.create_variants
-- $1 variants, $2 organizationId, $3 id
-- rows
insert into
  product_variants (
    organization_id,
    product_id,
    label,
    status,
    capacity_min,
    capacity_max,
    currency,
    description,
    short_description,
    duration_days,
    includes,
    excludes,
    from_price,
    price_max,
    id,
    position
  )
select
  products.organization_id,
  products.id,
  input.label,
  input.status,
  input.capacity_min,
  input.capacity_max,
  input.currency,
  input.description,
  input.short_description,
  input.duration_days,
  input.includes,
  input.excludes,
  input.from_price,
  input.price_max,
  input.id,
  input.position
from
  products,
  jsonb_populate_recordset(null::product_variants, $1::jsonb) input
where
  products.organization_id = $2
  and products.id = $3;

-- products.due_for_purge
-- $1 before, $2 limit
-- rows; a custom plan at each run
select
  organization_id as "organizationId",
  id as id
from
  products
where
  products.archived_at is not null
  and products.archived_at < $1::timestamptz
order by
  products.archived_at
limit
  $2;

-- products.get
-- $1 organizationId, $2 id
-- one JSON body, found by its key
select
  coalesce(
    (
      select
        kept.body
      from
        product_bodies kept
      where
        kept.organization_id = $1
        and kept.id = products.id
        and kept.updated_at = products.updated_at
        and kept.rendering = 44438628
    ),
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
                    product_variants.organization_id = $1
                    and product_variants.product_id = products.id
                  order by
                    product_variants.position
                ) item
            ) as variants,
            to_char(products.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "createdAt",
            to_char(products.updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "updatedAt"
        ) item
    )
  ) as body
from
  products
where
  products.organization_id = $1
  and products.id = $2
  and products.archived_at is null;

-- products.keep_bodies
-- $1 organizationId, $2 ids
-- rows
insert into
  product_bodies (organization_id, id, updated_at, rendering, body)
select
  products.organization_id,
  products.id,
  products.updated_at,
  44438628,
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
                  product_variants.organization_id = $1
                  and product_variants.product_id = products.id
                order by
                  product_variants.position
              ) item
          ) as variants,
          to_char(products.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "createdAt",
          to_char(products.updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "updatedAt"
      ) item
  )
from
  products
where
  products.organization_id = $1
  and products.id = any ($2::uuid[])
on conflict (organization_id, id) do update
set
  updated_at = excluded.updated_at,
  rendering = excluded.rendering,
  body = excluded.body;

-- products.keep_new_body
-- $1 organizationId, $2 id
-- one JSON body
insert into
  product_bodies as kept (organization_id, id, updated_at, rendering, body)
select
  products.organization_id,
  products.id,
  products.updated_at,
  44438628,
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
                  product_variants.organization_id = $1
                  and product_variants.product_id = products.id
                order by
                  product_variants.position
              ) item
          ) as variants,
          to_char(products.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "createdAt",
          to_char(products.updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "updatedAt"
      ) item
  )
from
  products
where
  products.organization_id = $1
  and products.id = $2
returning
  kept.body;

-- products.list
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
                product_bodies kept
              where
                kept.organization_id = $1
                and kept.id = page.id
                and kept.updated_at = page.updated_at
                and kept.rendering = 44438628
            ),
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
                            product_variants.organization_id = $1
                            and product_variants.product_id = products.id
                          order by
                            product_variants.position
                        ) item
                    ) as variants,
                    to_char(products.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "createdAt",
                    to_char(products.updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "updatedAt"
                  from
                    products
                  where
                    products.organization_id = $1
                    and products.id = page.id
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
                products.id as id,
                updated_at
              from
                products
              where
                products.organization_id = $1
                and products.archived_at is null
              order by
                products.updated_at desc nulls last,
                products.id desc nulls last
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
        and live_counts.resource = 'products'
    ),
    '}}'
  ) as body;

-- products.list budgetTier
-- $1 organizationId, $2 budgetTier, $3 limit, $4 offset
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
                product_bodies kept
              where
                kept.organization_id = $1
                and kept.id = page.id
                and kept.updated_at = page.updated_at
                and kept.rendering = 44438628
            ),
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
                            product_variants.organization_id = $1
                            and product_variants.product_id = products.id
                          order by
                            product_variants.position
                        ) item
                    ) as variants,
                    to_char(products.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "createdAt",
                    to_char(products.updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "updatedAt"
                  from
                    products
                  where
                    products.organization_id = $1
                    and products.id = page.id
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
                products.id as id,
                updated_at
              from
                products
              where
                products.organization_id = $1
                and products.archived_at is null
                and products.budget_tier = $2
              order by
                products.updated_at desc nulls last,
                products.id desc nulls last
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
        products
      where
        products.organization_id = $1
        and products.archived_at is null
        and products.budget_tier = $2
    ),
    '}}'
  ) as body;

-- products.list externalReferenceCode
-- $1 organizationId, $2 externalReferenceCode, $3 limit, $4 offset
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
                product_bodies kept
              where
                kept.organization_id = $1
                and kept.id = page.id
                and kept.updated_at = page.updated_at
                and kept.rendering = 44438628
            ),
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
                            product_variants.organization_id = $1
                            and product_variants.product_id = products.id
                          order by
                            product_variants.position
                        ) item
                    ) as variants,
                    to_char(products.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "createdAt",
                    to_char(products.updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "updatedAt"
                  from
                    products
                  where
                    products.organization_id = $1
                    and products.id = page.id
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
                products.id as id,
                updated_at
              from
                products
              where
                products.organization_id = $1
                and products.archived_at is null
                and products.external_reference_code = $2
              order by
                products.updated_at desc nulls last,
                products.id desc nulls last
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
        products
      where
        products.organization_id = $1
        and products.archived_at is null
        and products.external_reference_code = $2
    ),
    '}}'
  ) as body;

-- products.list offset
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
                product_bodies kept
              where
                kept.organization_id = $1
                and kept.id = page.id
                and kept.updated_at = page.updated_at
                and kept.rendering = 44438628
            ),
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
                            product_variants.organization_id = $1
                            and product_variants.product_id = products.id
                          order by
                            product_variants.position
                        ) item
                    ) as variants,
                    to_char(products.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "createdAt",
                    to_char(products.updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "updatedAt"
                  from
                    products
                  where
                    products.organization_id = $1
                    and products.id = page.id
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
                products.id as id,
                updated_at
              from
                products
              where
                products.organization_id = $1
                and products.archived_at is null
              order by
                products.updated_at desc nulls last,
                products.id desc nulls last
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
        and live_counts.resource = 'products'
    ),
    '}}'
  ) as body;

-- products.list query
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
                product_bodies kept
              where
                kept.organization_id = $1
                and kept.id = page.id
                and kept.updated_at = page.updated_at
                and kept.rendering = 44438628
            ),
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
                            product_variants.organization_id = $1
                            and product_variants.product_id = products.id
                          order by
                            product_variants.position
                        ) item
                    ) as variants,
                    to_char(products.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "createdAt",
                    to_char(products.updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "updatedAt"
                  from
                    products
                  where
                    products.organization_id = $1
                    and products.id = page.id
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
                products.id as id,
                updated_at
              from
                products
              where
                products.organization_id = $1
                and products.archived_at is null
                and products.id in (
                  select
                    products.id
                  from
                    searchable_products products
                  where
                    products.organization_id = $1
                    and products.archived_at is null
                    and products.search like contains_pattern ($2)
                )
              order by
                products.updated_at desc nulls last,
                products.id desc nulls last
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
        searchable_products products
      where
        products.organization_id = $1
        and products.archived_at is null
        and products.search like contains_pattern ($2)
    ),
    '}}'
  ) as body;

-- products.list status
-- $1 organizationId, $2 status, $3 limit, $4 offset
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
                product_bodies kept
              where
                kept.organization_id = $1
                and kept.id = page.id
                and kept.updated_at = page.updated_at
                and kept.rendering = 44438628
            ),
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
                            product_variants.organization_id = $1
                            and product_variants.product_id = products.id
                          order by
                            product_variants.position
                        ) item
                    ) as variants,
                    to_char(products.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "createdAt",
                    to_char(products.updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "updatedAt"
                  from
                    products
                  where
                    products.organization_id = $1
                    and products.id = page.id
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
                products.id as id,
                updated_at
              from
                products
              where
                products.organization_id = $1
                and products.archived_at is null
                and products.status = $2
              order by
                products.updated_at desc nulls last,
                products.id desc nulls last
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
        products
      where
        products.organization_id = $1
        and products.archived_at is null
        and products.status = $2
    ),
    '}}'
  ) as body;

-- products.list type
-- $1 organizationId, $2 type, $3 limit, $4 offset
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
                product_bodies kept
              where
                kept.organization_id = $1
                and kept.id = page.id
                and kept.updated_at = page.updated_at
                and kept.rendering = 44438628
            ),
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
                            product_variants.organization_id = $1
                            and product_variants.product_id = products.id
                          order by
                            product_variants.position
                        ) item
                    ) as variants,
                    to_char(products.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "createdAt",
                    to_char(products.updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "updatedAt"
                  from
                    products
                  where
                    products.organization_id = $1
                    and products.id = page.id
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
                products.id as id,
                updated_at
              from
                products
              where
                products.organization_id = $1
                and products.archived_at is null
                and products.type = $2
              order by
                products.updated_at desc nulls last,
                products.id desc nulls last
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
        products
      where
        products.organization_id = $1
        and products.archived_at is null
        and products.type = $2
    ),
    '}}'
  ) as body;

-- products.list_archived
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
                          product_variants.organization_id = $1
                          and product_variants.product_id = products.id
                        order by
                          product_variants.position
                      ) item
                  ) as variants,
                  to_char(products.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "createdAt",
                  to_char(products.updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "updatedAt",
                  to_char(products.archived_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "archivedAt",
                  to_char((products.archived_at + interval '720 hours') at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "purgeAt"
                from
                  products
                where
                  products.organization_id = $1
                  and products.id = page.id
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
                products.id as id
              from
                products
              where
                products.organization_id = $1
                and products.archived_at is not null
              order by
                products.archived_at desc nulls last,
                products.id desc nulls last
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
        products
      where
        products.organization_id = $1
        and products.archived_at is not null
    ),
    '}}'
  ) as body;

-- products.list_archived budgetTier
-- $1 organizationId, $2 budgetTier, $3 limit, $4 offset
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
                          product_variants.organization_id = $1
                          and product_variants.product_id = products.id
                        order by
                          product_variants.position
                      ) item
                  ) as variants,
                  to_char(products.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "createdAt",
                  to_char(products.updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "updatedAt",
                  to_char(products.archived_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "archivedAt",
                  to_char((products.archived_at + interval '720 hours') at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "purgeAt"
                from
                  products
                where
                  products.organization_id = $1
                  and products.id = page.id
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
                products.id as id
              from
                products
              where
                products.organization_id = $1
                and products.archived_at is not null
                and products.budget_tier = $2
              order by
                products.archived_at desc nulls last,
                products.id desc nulls last
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
        products
      where
        products.organization_id = $1
        and products.archived_at is not null
        and products.budget_tier = $2
    ),
    '}}'
  ) as body;

-- products.list_archived externalReferenceCode
-- $1 organizationId, $2 externalReferenceCode, $3 limit, $4 offset
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
                          product_variants.organization_id = $1
                          and product_variants.product_id = products.id
                        order by
                          product_variants.position
                      ) item
                  ) as variants,
                  to_char(products.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "createdAt",
                  to_char(products.updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "updatedAt",
                  to_char(products.archived_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "archivedAt",
                  to_char((products.archived_at + interval '720 hours') at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "purgeAt"
                from
                  products
                where
                  products.organization_id = $1
                  and products.id = page.id
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
                products.id as id
              from
                products
              where
                products.organization_id = $1
                and products.archived_at is not null
                and products.external_reference_code = $2
              order by
                products.archived_at desc nulls last,
                products.id desc nulls last
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
        products
      where
        products.organization_id = $1
        and products.archived_at is not null
        and products.external_reference_code = $2
    ),
    '}}'
  ) as body;

-- products.list_archived offset
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
                          product_variants.organization_id = $1
                          and product_variants.product_id = products.id
                        order by
                          product_variants.position
                      ) item
                  ) as variants,
                  to_char(products.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "createdAt",
                  to_char(products.updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "updatedAt",
                  to_char(products.archived_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "archivedAt",
                  to_char((products.archived_at + interval '720 hours') at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "purgeAt"
                from
                  products
                where
                  products.organization_id = $1
                  and products.id = page.id
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
                products.id as id
              from
                products
              where
                products.organization_id = $1
                and products.archived_at is not null
              order by
                products.archived_at desc nulls last,
                products.id desc nulls last
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
        products
      where
        products.organization_id = $1
        and products.archived_at is not null
    ),
    '}}'
  ) as body;

-- products.list_archived query
-- $1 organizationId, $2 query, $3 limit, $4 offset
-- one JSON body; a custom plan at each run
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
                          product_variants.organization_id = $1
                          and product_variants.product_id = products.id
                        order by
                          product_variants.position
                      ) item
                  ) as variants,
                  to_char(products.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "createdAt",
                  to_char(products.updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "updatedAt",
                  to_char(products.archived_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "archivedAt",
                  to_char((products.archived_at + interval '720 hours') at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "purgeAt"
                from
                  products
                where
                  products.organization_id = $1
                  and products.id = page.id
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
                products.id as id
              from
                products
              where
                products.organization_id = $1
                and products.archived_at is not null
                and products.search like contains_pattern ($2)
              order by
                products.archived_at desc nulls last,
                products.id desc nulls last
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
        products
      where
        products.organization_id = $1
        and products.archived_at is not null
        and products.search like contains_pattern ($2)
    ),
    '}}'
  ) as body;

-- products.list_archived since
-- $1 organizationId, $2 since, $3 limit, $4 offset
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
                          product_variants.organization_id = $1
                          and product_variants.product_id = products.id
                        order by
                          product_variants.position
                      ) item
                  ) as variants,
                  to_char(products.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "createdAt",
                  to_char(products.updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "updatedAt",
                  to_char(products.archived_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "archivedAt",
                  to_char((products.archived_at + interval '720 hours') at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "purgeAt"
                from
                  products
                where
                  products.organization_id = $1
                  and products.id = page.id
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
                products.id as id
              from
                products
              where
                products.organization_id = $1
                and products.archived_at is not null
                and products.archived_at >= $2::timestamptz
              order by
                products.archived_at desc nulls last,
                products.id desc nulls last
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
        products
      where
        products.organization_id = $1
        and products.archived_at is not null
        and products.archived_at >= $2::timestamptz
    ),
    '}}'
  ) as body;

-- products.list_archived status
-- $1 organizationId, $2 status, $3 limit, $4 offset
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
                          product_variants.organization_id = $1
                          and product_variants.product_id = products.id
                        order by
                          product_variants.position
                      ) item
                  ) as variants,
                  to_char(products.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "createdAt",
                  to_char(products.updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "updatedAt",
                  to_char(products.archived_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "archivedAt",
                  to_char((products.archived_at + interval '720 hours') at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "purgeAt"
                from
                  products
                where
                  products.organization_id = $1
                  and products.id = page.id
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
                products.id as id
              from
                products
              where
                products.organization_id = $1
                and products.archived_at is not null
                and products.status = $2
              order by
                products.archived_at desc nulls last,
                products.id desc nulls last
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
        products
      where
        products.organization_id = $1
        and products.archived_at is not null
        and products.status = $2
    ),
    '}}'
  ) as body;

-- products.list_archived type
-- $1 organizationId, $2 type, $3 limit, $4 offset
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
                          product_variants.organization_id = $1
                          and product_variants.product_id = products.id
                        order by
                          product_variants.position
                      ) item
                  ) as variants,
                  to_char(products.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "createdAt",
                  to_char(products.updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "updatedAt",
                  to_char(products.archived_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "archivedAt",
                  to_char((products.archived_at + interval '720 hours') at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "purgeAt"
                from
                  products
                where
                  products.organization_id = $1
                  and products.id = page.id
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
                products.id as id
              from
                products
              where
                products.organization_id = $1
                and products.archived_at is not null
                and products.type = $2
              order by
                products.archived_at desc nulls last,
                products.id desc nulls last
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
        products
      where
        products.organization_id = $1
        and products.archived_at is not null
        and products.type = $2
    ),
    '}}'
  ) as body;

-- products.lock_for_copies
-- $1 organizationId, $2 ids
-- rows
select
  products.id as id
from
  products
where
  products.organization_id = $1
  and products.id = any ($2::uuid[])
order by
  products.id
for update;

-- products.lock_record
-- $1 organizationId, $2 id
-- rows
select
  id as id
from
  products
where
  products.organization_id = $1
  and products.id = $2
  and products.archived_at is null
for update;

-- products.make_searchable
-- $1 organizationId, $2 id
-- rows
insert into
  searchable_products as searchable (organization_id, id, type, status, budget_tier, external_reference_code, search, archived_at)
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
  products.organization_id = $1
  and products.id = $2
on conflict (organization_id, id) do update
set
  (type, status, budget_tier, external_reference_code, search, archived_at) = row (
    excluded.type,
    excluded.status,
    excluded.budget_tier,
    excluded.external_reference_code,
    excluded.search,
    excluded.archived_at
  );

-- products.purge
-- $1 organizationId, $2 ids
-- rows
delete from products
where
  products.organization_id = $1
  and products.id = any ($2::uuid[]);

-- products.purge_bodies
-- $1 organizationId, $2 ids
-- rows
delete from product_bodies
where
  product_bodies.organization_id = $1
  and product_bodies.id = any ($2::uuid[]);

-- products.purge_lock
-- $1 organizationId, $2 ids, $3 before
-- rows
select
  id as id,
  to_char(archived_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "archivedAt"
from
  products
where
  products.organization_id = $1
  and products.id = any ($2::uuid[])
  and products.archived_at < $3::timestamptz
for update
  skip locked;

-- products.purge_searchable
-- $1 organizationId, $2 ids
-- rows
delete from searchable_products
where
  searchable_products.organization_id = $1
  and searchable_products.id = any ($2::uuid[]);

-- products.purge_variants
-- $1 organizationId, $2 ids
-- rows
delete from product_variants
where
  product_variants.organization_id = $1
  and product_variants.product_id = any ($2::uuid[])
returning
  product_id as "productId";

-- products.restore
-- $1 organizationId, $2 id
-- rows
update products
set
  archived_at = null
where
  products.organization_id = $1
  and products.id = $2;

-- products.restore_lock
-- $1 since, $2 organizationId, $3 id
-- rows
select
  products.archived_at is null as "isLive",
  archived_at >= $1::timestamptz as "isRetained"
from
  products
where
  products.organization_id = $2
  and products.id = $3
for update;

-- products.stale_bodies
-- $1 organizationId, $2 after, $3 limit
-- rows
select
  products.id as id,
  kept.id is null as "isFound"
from
  products
  left join product_bodies kept on kept.organization_id = $1
  and kept.id = products.id
  and kept.id > $2
  and kept.updated_at = products.updated_at
  and kept.rendering = 44438628
where
  products.organization_id = $1
  and products.archived_at is null
  and products.id > $2
order by
  products.id
limit
  $3;

-- products.stale_searchable
-- $1 organizationId, $2 after, $3 limit
-- rows
select
  products.id as id,
  (
    kept.id is null
    or row (
      kept.type,
      kept.status,
      kept.budget_tier,
      kept.external_reference_code,
      kept.search,
      kept.archived_at
    ) is distinct from row (
      products.type,
      products.status,
      products.budget_tier,
      products.external_reference_code,
      products.search,
      products.archived_at
    )
  ) as "isFound"
from
  products
  left join searchable_products kept on kept.organization_id = $1
  and kept.id = products.id
  and kept.id > $2
where
  products.organization_id = $1
  and true
  and products.id > $2
order by
  products.id
limit
  $3;

-- products.update
-- $1 organizationId, $2 id, $3 patch, $4 relatedChanged
-- one JSON body
with
  stored as (
    select
      products as record
    from
      products
    where
      products.organization_id = $1
      and products.id = $2
      and products.archived_at is null
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
    update products
    set
      (
        title,
        type,
        status,
        pricing_mode,
        budget_tier,
        capacity_min,
        capacity_max,
        currency,
        description,
        short_description,
        special_conditions,
        operator,
        price_basis,
        external_reference_code,
        duration_days,
        duration_hours,
        includes,
        excludes,
        from_price,
        price_max,
        valid_from,
        valid_until
      ) = row (
        patched.title,
        patched.type,
        patched.status,
        patched.pricing_mode,
        patched.budget_tier,
        patched.capacity_min,
        patched.capacity_max,
        patched.currency,
        patched.description,
        patched.short_description,
        patched.special_conditions,
        patched.operator,
        patched.price_basis,
        patched.external_reference_code,
        patched.duration_days,
        patched.duration_hours,
        patched.includes,
        patched.excludes,
        patched.from_price,
        patched.price_max,
        patched.valid_from,
        patched.valid_until
      ),
      updated_at = greatest(now(), (products.updated_at at time zone 'UTC' + interval '1 millisecond') at time zone 'UTC')
    from
      stored,
      patched
    where
      products.organization_id = $1
      and products.id = $2
      and products.archived_at is null
      and (
        $4::boolean
        or row (
          (stored.record).title,
          (stored.record).type,
          (stored.record).status,
          (stored.record).pricing_mode,
          (stored.record).budget_tier,
          (stored.record).capacity_min,
          (stored.record).capacity_max,
          (stored.record).currency,
          (stored.record).description,
          (stored.record).short_description,
          (stored.record).special_conditions,
          (stored.record).operator,
          (stored.record).price_basis,
          (stored.record).external_reference_code,
          (stored.record).duration_days,
          (stored.record).duration_hours,
          (stored.record).includes,
          (stored.record).excludes,
          (stored.record).from_price,
          (stored.record).price_max,
          (stored.record).valid_from,
          (stored.record).valid_until
        ) is distinct from row (
          patched.title,
          patched.type,
          patched.status,
          patched.pricing_mode,
          patched.budget_tier,
          patched.capacity_min,
          patched.capacity_max,
          patched.currency,
          patched.description,
          patched.short_description,
          patched.special_conditions,
          patched.operator,
          patched.price_basis,
          patched.external_reference_code,
          patched.duration_days,
          patched.duration_hours,
          patched.includes,
          patched.excludes,
          patched.from_price,
          patched.price_max,
          patched.valid_from,
          patched.valid_until
        )
      )
    returning
      products.*
  ),
  searched as (
    update searchable_products searchable
    set
      (type, status, budget_tier, external_reference_code, search, archived_at) = row (
        changed.type,
        changed.status,
        changed.budget_tier,
        changed.external_reference_code,
        changed.search,
        changed.archived_at
      )
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
          row (
            (stored.record).type,
            (stored.record).status,
            (stored.record).budget_tier,
            (stored.record).external_reference_code,
            (stored.record).search,
            (stored.record).archived_at
          ) is distinct from row (
            changed.type,
            changed.status,
            changed.budget_tier,
            changed.external_reference_code,
            changed.search,
            changed.archived_at
          )
      )
  ),
  rendered as (
    select
      products.id,
      products.updated_at,
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
                      product_variants.organization_id = $1
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
      ) products
  ),
  kept as (
    update product_bodies kept
    set
      updated_at = rendered.updated_at,
      rendering = 44438628,
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
          products.updated_at
        from
          products
        where
          products.organization_id = $1
          and products.id = $2
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

-- products.update_media
-- $1 organizationId, $2 id, $3 patch, $4 relatedChanged
-- one JSON body
with
  stored as (
    select
      products as record
    from
      products
    where
      products.organization_id = $1
      and products.id = $2
      and products.archived_at is null
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
    update products
    set
      (cover_image, gallery, destinations) = row (patched.cover_image, patched.gallery, patched.destinations),
      updated_at = greatest(now(), (products.updated_at at time zone 'UTC' + interval '1 millisecond') at time zone 'UTC')
    from
      stored,
      patched
    where
      products.organization_id = $1
      and products.id = $2
      and products.archived_at is null
      and (
        $4::boolean
        or row ((stored.record).cover_image, (stored.record).gallery, (stored.record).destinations) is distinct from row (patched.cover_image, patched.gallery, patched.destinations)
      )
    returning
      products.*
  ),
  rendered as (
    select
      products.id,
      products.updated_at,
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
                      product_variants.organization_id = $1
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
      ) products
  ),
  kept as (
    update product_bodies kept
    set
      updated_at = rendered.updated_at,
      rendering = 44438628,
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
          products.updated_at
        from
          products
        where
          products.organization_id = $1
          and products.id = $2
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

-- products.update_unsearched
-- $1 organizationId, $2 id, $3 patch, $4 relatedChanged
-- one JSON body
with
  stored as (
    select
      products as record
    from
      products
    where
      products.organization_id = $1
      and products.id = $2
      and products.archived_at is null
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
    update products
    set
      (
        pricing_mode,
        capacity_min,
        capacity_max,
        currency,
        special_conditions,
        operator,
        price_basis,
        duration_days,
        duration_hours,
        includes,
        excludes,
        from_price,
        price_max,
        valid_from,
        valid_until
      ) = row (
        patched.pricing_mode,
        patched.capacity_min,
        patched.capacity_max,
        patched.currency,
        patched.special_conditions,
        patched.operator,
        patched.price_basis,
        patched.duration_days,
        patched.duration_hours,
        patched.includes,
        patched.excludes,
        patched.from_price,
        patched.price_max,
        patched.valid_from,
        patched.valid_until
      ),
      updated_at = greatest(now(), (products.updated_at at time zone 'UTC' + interval '1 millisecond') at time zone 'UTC')
    from
      stored,
      patched
    where
      products.organization_id = $1
      and products.id = $2
      and products.archived_at is null
      and (
        $4::boolean
        or row (
          (stored.record).pricing_mode,
          (stored.record).capacity_min,
          (stored.record).capacity_max,
          (stored.record).currency,
          (stored.record).special_conditions,
          (stored.record).operator,
          (stored.record).price_basis,
          (stored.record).duration_days,
          (stored.record).duration_hours,
          (stored.record).includes,
          (stored.record).excludes,
          (stored.record).from_price,
          (stored.record).price_max,
          (stored.record).valid_from,
          (stored.record).valid_until
        ) is distinct from row (
          patched.pricing_mode,
          patched.capacity_min,
          patched.capacity_max,
          patched.currency,
          patched.special_conditions,
          patched.operator,
          patched.price_basis,
          patched.duration_days,
          patched.duration_hours,
          patched.includes,
          patched.excludes,
          patched.from_price,
          patched.price_max,
          patched.valid_from,
          patched.valid_until
        )
      )
    returning
      products.*
  ),
  rendered as (
    select
      products.id,
      products.updated_at,
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
                      product_variants.organization_id = $1
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
      ) products
  ),
  kept as (
    update product_bodies kept
    set
      updated_at = rendered.updated_at,
      rendering = 44438628,
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
          products.updated_at
        from
          products
        where
          products.organization_id = $1
          and products.id = $2
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

-- products.wrong_bodies
-- $1 organizationId, $2 after, $3 limit
-- rows
select
  products.id as id,
  coalesce(
    kept.body <> (
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
                    product_variants.organization_id = $1
                    and product_variants.product_id = products.id
                  order by
                    product_variants.position
                ) item
            ) as variants,
            to_char(products.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "createdAt",
            to_char(products.updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "updatedAt"
        ) item
    ),
    false
  ) as "isFound"
from
  products
  left join product_bodies kept on kept.organization_id = $1
  and kept.id = products.id
  and kept.id > $2
  and kept.updated_at = products.updated_at
  and kept.rendering = 44438628
where
  products.organization_id = $1
  and products.archived_at is null
  and products.id > $2
order by
  products.id
limit
  $3;
