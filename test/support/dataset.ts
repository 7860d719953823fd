import { readFile } from 'node:fs/promises';
import { getTableColumns, getTableName } from 'drizzle-orm';
import type pg from 'pg';
import { tables } from '../../tools/tables.ts';
import { COMPARE } from './drift.ts';

/** The number of records of each kind in an organization. */
type OrganizationSize = {
  customers: number;
  products: number;
  opportunities: number;
  conversations: number;
  quotes: number;
};

/** The first organization has the number 1 in `recordId`, the next one 2. */
export type DataSet = readonly OrganizationSize[];

const KIND = {
  organization: 1,
  customer: 2,
  product: 3,
  opportunity: 4,
  conversation: 5,
  quote: 6,
  stage: 7,
  member: 8,
};

const hex = (value: number, digits: number): string => value.toString(16).padStart(digits, '0');

/** The id of the `n`th record of a kind, from 1; `bench.id` in SQL. */
export function recordId(kind: keyof typeof KIND, organization: number, n: number): string {
  const time = hex(1_733_011_200_000 + n * 60_000, 12);
  return `${time.slice(0, 8)}-${time.slice(8)}-7${hex(KIND[kind], 3)}-8${hex(organization, 3)}-${hex(n, 12)}`;
}

export const organizationId = (organization: number): string =>
  recordId('organization', organization, organization);

/** Words in the data set: `rare` in one of 400,000 records, `common` in one of five. */
export const TERMS = { rare: 'Zafiro', common: 'familia' };

/** Every 20th conversation, from this one, starts a chain of three rotated threads. */
const CHAIN_START = 1;

/** The number of a conversation that is the newest thread of a chain. */
export const rotatedConversation = (index: number): number => 20 * index + CHAIN_START + 2;

const id = (kind: keyof typeof KIND, n = 'n'): string => `bench.id(${KIND[kind]}, org, ${n})`;
const rows = (count: string): string => `from bench.sizes cross join lateral generate_series(1, ${count}) n`;
const texts = (choices: readonly string[]): string => `array[${choices.map((text) => `'${text}'`).join()}]`;
/** A random slice of the choices. */
const some = (choices: readonly string[], salt: number): string =>
  `(${texts(choices)})[1 + bench.noise(org, n, ${salt}) % 3:3 + bench.noise(org, n, ${salt + 1}) % 3]`;
const archived = (salt: number): string =>
  `case when bench.chance(2, org, n, ${salt}) then bench.touched(org, n, ${salt}) end`;

/** Contacts and variants as the service stores them: as JSON, with the fields in the order of the response. */
const json = (fields: string): string => `(select row_to_json(child) from (select ${fields}) child)`;

const contact = (contactId: string, type: string, value: string, phone: string): string =>
  json(`${contactId} as id, '${type}' as "identifierType", ${value} as "identifierValue",
    null::text as "displayName", ${phone} as "phoneNumber"`);

const INCLUDED = ['Hotel', 'Traslados', 'Desayuno', 'Guía local', 'Seguro de viaje'];
const variant = (position: number, label: string): string =>
  json(`bench.id(${24 + position}, org, n) as id, '${label}' as label, ${position} as position, 'active' as status,
    null::text as "capacityMin", 16 as "capacityMax", 'USD' as currency,
    'Salidas todos los ' || bench.pick(${texts(['lunes', 'miércoles', 'viernes', 'sábados'])}, org, n, ${80 + position}) || '.'
      as description, null::text as "shortDescription", 3 + bench.noise(org, n, 41) % 12 as "durationDays",
    null::text as "durationHours", ${some(INCLUDED, 62)} as includes, '{Vuelos}'::text[] as excludes,
    300 + bench.noise(org, n, 66) % 3000 + 400 * ${position} as "fromPrice",
    3500 + bench.noise(org, n, 67) % 3000 + 400 * ${position} as "priceMax"`);

/** The search documents, and the totals of lists, which triggers would write: they do not run while the data are loaded. */
const SEARCHED = COMPARE.matchAll(/from \(\n([^;]*?)\n\) as record full join (searchable_\w+) /g);
const [, COUNTED = ''] = /full join \(\n([^;]*?)\n\) as records/.exec(COMPARE) ?? [];

const STEPS: readonly string[] = [
  `insert into organizations (id, name) select ${id('organization', 'org')}, 'Agencia ' || org from bench.sizes;
      insert into team_members (organization_id, id, user_id, name, email, roles)
      select ${id('organization', 'org')}, ${id('member')}, 'user_' || org || '_' || n,
        'Asesora ' || n, 'equipo' || n || '@agencia' || org || '.example',
        case n when 1 then '{owner}'::text[] else '{seller}' end
      ${rows('20')};
      insert into pipeline_stages (organization_id, id, key, name, position)
      select ${id('organization', 'org')}, ${id('stage')}, key, initcap(key), n
      from bench.sizes cross join unnest(${texts(['new', 'contacted', 'quoted', 'negotiation', 'won', 'lost'])})
        with ordinality as stage(key, n)`,
  `insert into customers (organization_id, id, first_name, last_name, city, country, preferred_language, summary, tags,
        contacts, contact_keys, contact_search, created_at, updated_at, archived_at)
      select ${id('organization', 'org')}, ${id('customer')}, bench.first_name(org, n), bench.last_name(org, n),
        bench.place(org, n, 20), bench.pick(${texts(['México', 'Colombia', 'Argentina', 'Chile', 'Perú'])}, org, n, 21),
        bench.pick(array['es','es','es','es','pt','en'], org, n, 22), bench.remark(org, n, 30),
        case when bench.chance(1, org, n, 23) then '{vip}'::text[] else '{}' end
          || case when bench.chance(40, org, n, 24)
            then array[bench.pick(${texts(['luna de miel', 'recurrente', 'aventura', 'playa', 'corporativo'])}, org, n, 25)] else '{}' end,
        array_to_json(array[
          ${contact('bench.id(16, org, n)', 'whatsapp', 'bench.whatsapp(n)', 'bench.whatsapp(n)')},
          ${contact('bench.id(17, org, n)', 'email', 'email', 'null::text')}]),
        array['whatsapp ' || bench.whatsapp_key(n), 'email ' || email],
        concat_ws(chr(31), bench.whatsapp(n), bench.whatsapp_key(n), substr(bench.whatsapp(n), 2), email, email),
        bench.born(n), bench.touched(org, n, 26), ${archived(28)}
      ${rows('customers')} cross join lateral (select bench.email(org, n) as email offset 0) address`,
  `insert into customer_contact_keys (organization_id, identifier_type, contact_key, customer_id)
      select ${id('organization', 'org')}, contact.type, contact.key, ${id('customer')}
      ${rows('customers')} cross join lateral (values ('whatsapp', bench.whatsapp_key(n)), ('email', bench.email(org, n))) contact(type, key)
      where not bench.chance(2, org, n, 28)`,
  `insert into products (organization_id, id, title, type, status, pricing_mode, budget_tier, capacity_min, capacity_max, cover_image,
        currency, description, short_description, special_conditions, destinations, duration_days, includes, excludes, gallery,
        external_reference_code, from_price, price_max, operator, price_basis, valid_from, valid_until, variants, created_at, updated_at,
        archived_at)
      select ${id('organization', 'org')}, ${id('product')},
        bench.place(org, n, 40) || ' en ' || 3 + bench.noise(org, n, 41) % 12 || ' días',
        bench.pick(array['package','package','experience','expedition','custom'], org, n, 42),
        bench.pick(array['active','active','active','active','paused','draft'], org, n, 43),
        bench.pick(array['per_person','per_group','total'], org, n, 44), bench.pick(array['economic','mid','mid','premium', null], org, n, 45),
        2, 4 + bench.noise(org, n, 46) % 20, 'products/' || org || '/' || n || '/cover.jpg', bench.pick(array['USD','MXN','COP'], org, n, 47),
        bench.remark(org, n, 50) || ' El recorrido sale de ' || bench.place(org, n, 60) || ', pasa por ' || bench.place(org, n, 61)
          || ' y termina en ' || bench.place(org, n, 40) || ', con un guía local y grupos pequeños. Cada día deja tiempo libre por la tarde.',
        'Lo mejor de ' || bench.place(org, n, 40) || ' sin prisas.', 'Cancelación sin costo hasta 30 días antes.',
        array[bench.place(org, n, 40), bench.place(org, n, 60), bench.place(org, n, 61)], 3 + bench.noise(org, n, 41) % 12,
        ${some(INCLUDED, 62)},
        ${some(['Vuelos', 'Propinas', 'Bebidas', 'Visas', 'Gastos personales'], 64)},
        array['products/' || n || '/1.jpg', 'products/' || n || '/2.jpg', 'products/' || n || '/3.jpg'],
        'REF-' || n, 300 + bench.noise(org, n, 66) % 3000, 3500 + bench.noise(org, n, 67) % 3000,
        bench.pick(${texts(['Andes Travel', 'Rutas del Sur', 'Caribe DMC'])}, org, n, 68), 'Por persona en base doble', '2026-01-01', '2026-12-31',
        array_to_json(array[${variant(0, 'Temporada baja')}, ${variant(1, 'Temporada alta')}]),
        bench.born(n), bench.touched(org, n, 70), ${archived(72)}
      ${rows('products')}`,
  `insert into opportunities (organization_id, id, title, short_ref, destination, customer_id, seller_member_id, budget_min,
        budget_max, budget_currency, check_in_date, nights, passenger_count, sales_stage, stage_id, temperature, temperature_override,
        qualified_at, last_activity_at, created_at, updated_at, archived_at)
      select ${id('organization', 'org')}, ${id('opportunity')},
        bench.place(org, n, 100) || case when bench.chance(20, org, n, 101) then ' en familia' else ' a medida' end
          || case when n % 400000 = 7 then ' con mina de zafiro' else '' end,
        'OP-' || n, bench.place(org, n, 100), ${id('customer', '1 + bench.noise(org, n, 102) % customers')},
        ${id('member', '1 + bench.noise(org, n, 103) % 20')}, 500 + bench.noise(org, n, 104) % 2000, 3000 + bench.noise(org, n, 105) % 5000,
        'USD', '2026-12-15', 3 + bench.noise(org, n, 106) % 12, 1 + bench.noise(org, n, 107) % 6,
        bench.pick(array['new','new','contacted','qualified','qualified','won','lost'], org, n, 108),
        ${id('stage', '1 + bench.noise(org, n, 109) % 6')}, bench.pick(array['hot','warm','cold','unknown'], org, n, 110),
        case when bench.chance(10, org, n, 111) then 'hot' end,
        case when bench.chance(60, org, n, 112) then bench.born(n) + interval '1 day' end, bench.touched(org, n, 113),
        bench.born(n), bench.touched(org, n, 113), ${archived(115)}
      ${rows('opportunities')}`,
  `insert into quotes (organization_id, id, opportunity_id, title, status, destination, customer_id, price, currency, token,
        open_count, first_opened_at, last_opened_at, published_at, created_at, updated_at, archived_at)
      select ${id('organization', 'org')}, ${id('quote')}, ${id('opportunity', 'opportunity')},
        'Propuesta ' || bench.place(org, n, 120) || case when bench.chance(20, org, n, 121) then ' en familia' else '' end
          || case when n % 400000 = 7 then ' con mina de zafiro' else '' end,
        status, bench.place(org, n, 120), ${id('customer', '1 + bench.noise(org, opportunity, 102) % customers')},
        900 + bench.noise(org, n, 123) % 6000, 'USD', md5(org || ' ' || n), case when published then bench.noise(org, n, 124) % 9 else 0 end,
        case when published then bench.born(n) + interval '1 hour' end, case when published then bench.born(n) + interval '2 days' end,
        case when published then bench.born(n) end, bench.born(n), bench.touched(org, n, 125), ${archived(127)}
      ${rows('quotes')}
      cross join lateral (select 1 + bench.noise(org, n, 122) % opportunities as opportunity,
        bench.pick(array['draft','published','published','published','disabled'], org, n, 128) as status) chosen
      cross join lateral (select status <> 'draft' as published) state`,
  `insert into quote_attachments (organization_id, id, quote_id, file_name, kind, mime_type, size_bytes, created_at)
      select ${id('organization', 'org')}, bench.id(32, org, n), ${id('quote')}, 'propuesta-' || n || '.pdf', 'itinerary', 'application/pdf',
        10000 + bench.noise(org, n, 129) % 900000, bench.born(n)
      ${rows('quotes')} where n % 3 = 0`,
  `insert into conversations (organization_id, id, channel, contact, contact_key, contact_name, customer_id, activity_state, controlled_by,
        language, rotated_from, continued_by, chain_id, message_count, last_message_at, created_at, updated_at)
      select ${id('organization', 'org')}, ${id('conversation')}, channel,
        case when channel = 'whatsapp' then bench.whatsapp(customer) else bench.email(org, customer) end,
        case when channel = 'whatsapp' then bench.whatsapp_key(customer) else bench.email(org, customer) end,
        bench.first_name(org, customer) || case when bench.chance(20, org, first, 136) then ' y familia' else '' end
          || case when first % 400000 = 7 then ' Zafiro' else '' end,
        ${id('customer', 'customer')},
        bench.pick(array['waiting_for_agency','waiting_for_customer','waiting_for_customer','closed','closed'], org, n, 131),
        case when bench.chance(80, org, n, 132) then 'agent' else 'member' end, bench.pick(array['es','es','es','pt','en'], org, first, 133),
        case when place > 0 then ${id('conversation', 'n - 1')} end,
        case when chained and place < 2 and n < conversations then ${id('conversation', 'n + 1')} end, ${id('conversation', 'first')},
        messages, bench.born(n) + messages * interval '90 seconds', bench.born(n), bench.born(n) + messages * interval '90 seconds'
      ${rows('conversations')}
      cross join lateral (select n % 20 between ${CHAIN_START} and ${CHAIN_START + 2} as chained) chain
      cross join lateral (select case when chained then (n % 20 - ${CHAIN_START})::int else 0 end as place) position
      cross join lateral (select n - place as first) start
      cross join lateral (select 1 + bench.noise(org, first, 134) % customers as customer, 10 + (n * 7 % 31)::int as messages,
        bench.pick(array['whatsapp','whatsapp','whatsapp','whatsapp','whatsapp','whatsapp','whatsapp','instagram','web','email'], org, first, 135)
          as channel) chosen`,
  ...(
    [
      ['whatsapp_messages', "channel = 'whatsapp'"],
      ['channel_messages', "channel <> 'whatsapp'"],
    ] as const
  ).map(
    ([table, condition]) =>
      `insert into ${table} (organization_id, conversation_id, arrival, id, content, direction, message_type, sender_name, created_at)
      select organization_id, id, m,
        (lpad(to_hex(1733011200000 + n * 60000 + m * 90000), 12, '0') || '7009' || substr(id::text, 20, 4)
          || lpad(to_hex(m), 4, '0') || right(id::text, 8))::uuid,
        case when m % 2 = 0 then 'Claro, ' else 'Hola, ' end || bench.remark(0, n * 50 + m, 140),
        case when m % 2 = 0 then 'outbound' else 'inbound' end, 'text', case when m % 2 = 0 then 'Agente' else contact_name end,
        created_at + m * interval '90 seconds'
      from conversations cross join lateral (select ('x' || right(id::text, 12))::bit(48)::bigint as n) number
      cross join lateral generate_series(1, message_count) m
      where ${condition}`,
  ),
  ...Array.from(SEARCHED, ([, records, table]) => `insert into ${table} ${records}`),
  `insert into live_counts (organization_id, resource, value, slot, live)
      select organization_id, resource, value, 0, there from (${COUNTED}) as records`,
];

/** The tables whose rows belong to an organization. */
export const OWNED = tables.filter((table) => 'organizationId' in getTableColumns(table));
export const TENANT_TABLES = OWNED.map(getTableName);
export const TENANT_COLUMNS = OWNED.flatMap((table) =>
  Object.values(getTableColumns(table)).map((column) => ({
    table: getTableName(table),
    column: column.name,
    type: column.getSQLType(),
  })),
);

/** Fills a migrated, empty database, with the same data every time. */
export async function loadDataSet(client: pg.ClientBase, sizes: DataSet): Promise<void> {
  await client.query(await readFile(new URL('dataset-functions.sql', import.meta.url), 'utf8'));
  await client.query(
    `create table bench.sizes as
     select * from jsonb_to_recordset($1::jsonb) as size(org int, customers int, products int, opportunities int, conversations int, quotes int)`,
    [JSON.stringify(sizes.map((size, index) => ({ org: index + 1, ...size })))],
  );
  // Building an index over a loaded table is many times faster than updating it for each row.
  const { rows: indexes } = await client.query<{ name: string; definition: string }>(
    `select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition from pg_index
     where indrelid = any($1::text[]::regclass[]) and not exists (select from pg_constraint where conindid = indexrelid)
     order by 1`,
    [TENANT_TABLES],
  );
  // All references are valid by construction; checking each would take longer than inserting its row.
  await client.query(
    `analyze bench.sizes; set synchronous_commit = off; set maintenance_work_mem = '512MB'; set statement_timeout = 0;
     set session_replication_role = replica`,
  );
  for (const { name } of indexes) await client.query(`drop index ${name}`);
  for (const step of STEPS) await client.query(step);
  for (const { definition } of indexes) await client.query(definition);
  await client.query('vacuum analyze');
  await client.query('drop schema bench cascade; reset all');
}
