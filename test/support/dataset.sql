-- The records of the organizations in bench.sizes: `org` is the number of one, `n` that of a record.

insert into organizations (id, name) select bench.id('organization', org, org), 'Agencia ' || org from bench.sizes;

insert into team_members (organization_id, id, user_id, name, email, roles)
select bench.id('organization', org, org), bench.id('member', org, n), 'user_' || org || '_' || n, 'Asesora ' || n,
  'equipo' || n || '@agencia' || org || '.example', case n when 1 then '{owner}'::text[] else '{seller}' end
from bench.sizes cross join lateral generate_series(1, 20) n;

insert into pipeline_stages (organization_id, id, key, name, position)
select bench.id('organization', org, org), bench.id('stage', org, n), key, initcap(key), n
from bench.sizes
cross join unnest(array['new','contacted','quoted','negotiation','won','lost']) with ordinality as stage(key, n);

insert into customers (organization_id, id, first_name, last_name, city, country, preferred_language, summary, tags, contacts,
  contact_keys, contact_search, created_at, updated_at, archived_at)
select bench.id('organization', org, org), bench.id('customer', org, n), bench.first_name(org, n), bench.last_name(org, n),
  bench.place(org, n, 20), bench.pick(array['México','Colombia','Argentina','Chile','Perú'], org, n, 21),
  bench.pick(array['es','es','es','es','pt','en'], org, n, 22), bench.remark(org, n, 30),
  case when bench.chance(1, org, n, 23) then '{vip}'::text[] else '{}' end || case when bench.chance(40, org, n, 24)
    then array[bench.pick(array['luna de miel','recurrente','aventura','playa','corporativo'], org, n, 25)] else '{}' end,
  array_to_json(array[
    bench.contact(bench.id('whatsapp', org, n), 'whatsapp', bench.whatsapp(n), bench.whatsapp(n)),
    bench.contact(bench.id('email', org, n), 'email', email, null)]),
  array['whatsapp ' || bench.whatsapp_key(n), 'email ' || email],
  concat_ws(chr(31), bench.whatsapp(n), bench.whatsapp_key(n), substr(bench.whatsapp(n), 2), email, email),
  bench.born(n), bench.touched(org, n, 26), bench.archived(org, n, 28)
from bench.sizes cross join lateral generate_series(1, customers) n
cross join lateral (select bench.email(org, n) as email offset 0) address;

insert into customer_contact_keys (organization_id, identifier_type, contact_key, customer_id)
select bench.id('organization', org, org), contact.type, contact.key, bench.id('customer', org, n)
from bench.sizes cross join lateral generate_series(1, customers) n
cross join lateral (values ('whatsapp', bench.whatsapp_key(n)), ('email', bench.email(org, n))) contact(type, key)
where bench.archived(org, n, 28) is null;

insert into products (organization_id, id, title, type, status, pricing_mode, budget_tier, capacity_min, capacity_max, cover_image,
  currency, description, short_description, special_conditions, destinations, duration_days, includes, excludes, gallery,
  external_reference_code, from_price, price_max, operator, price_basis, valid_from, valid_until, variants, created_at, updated_at,
  archived_at)
select bench.id('organization', org, org), bench.id('product', org, n), main || ' en ' || days || ' días',
  bench.pick(array['package','package','experience','expedition','custom'], org, n, 42),
  bench.pick(array['active','active','active','active','paused','draft'], org, n, 43),
  bench.pick(array['per_person','per_group','total'], org, n, 44),
  bench.pick(array['economic','mid','mid','premium', null], org, n, 45),
  2, 4 + bench.noise(org, n, 46) % 20, 'products/' || org || '/' || n || '/cover.jpg',
  bench.pick(array['USD','MXN','COP'], org, n, 47),
  bench.remark(org, n, 50) || ' El recorrido sale de ' || first || ', pasa por ' || second || ' y termina en ' || main
    || ', con un guía local y grupos pequeños. Cada día deja tiempo libre por la tarde.',
  'Lo mejor de ' || main || ' sin prisas.', 'Cancelación sin costo hasta 30 días antes.', array[main, first, second], days,
  bench.included(org, n),
  bench.some(array['Vuelos','Propinas','Bebidas','Visas','Gastos personales'], org, n, 64),
  array['products/' || n || '/1.jpg', 'products/' || n || '/2.jpg', 'products/' || n || '/3.jpg'],
  'REF-' || n, 300 + bench.noise(org, n, 66) % 3000, 3500 + bench.noise(org, n, 67) % 3000,
  bench.pick(array['Andes Travel','Rutas del Sur','Caribe DMC'], org, n, 68), 'Por persona en base doble',
  '2026-01-01', '2026-12-31',
  array_to_json(array[bench.variant(org, n, 0, 'low'), bench.variant(org, n, 1, 'high')]),
  bench.born(n), bench.touched(org, n, 70), bench.archived(org, n, 72)
from bench.sizes cross join lateral generate_series(1, products) n
cross join lateral (select bench.place(org, n, 40) as main, bench.place(org, n, 60) as first, bench.place(org, n, 61) as second,
  3 + bench.noise(org, n, 41) % 12 as days) chosen;

insert into opportunities (organization_id, id, title, short_ref, destination, customer_id, seller_member_id, budget_min, budget_max,
  budget_currency, check_in_date, nights, passenger_count, sales_stage, stage_id, temperature, temperature_override, qualified_at,
  last_activity_at, created_at, updated_at, archived_at)
select bench.id('organization', org, org), bench.id('opportunity', org, n),
  bench.place(org, n, 100) || case when bench.chance(20, org, n, 101) then ' en familia' else ' a medida' end
    || case when n % 400000 = 7 then ' con mina de zafiro' else '' end,
  'OP-' || n, bench.place(org, n, 100), bench.id('customer', org, 1 + bench.noise(org, n, 102) % customers),
  bench.id('member', org, 1 + bench.noise(org, n, 103) % 20), 500 + bench.noise(org, n, 104) % 2000,
  3000 + bench.noise(org, n, 105) % 5000, 'USD', '2026-12-15', 3 + bench.noise(org, n, 106) % 12, 1 + bench.noise(org, n, 107) % 6,
  bench.pick(array['new','new','contacted','qualified','qualified','won','lost'], org, n, 108),
  bench.id('stage', org, 1 + bench.noise(org, n, 109) % 6), bench.pick(array['hot','warm','cold','unknown'], org, n, 110),
  case when bench.chance(10, org, n, 111) then 'hot' end,
  case when bench.chance(60, org, n, 112) then bench.born(n) + interval '1 day' end,
  bench.touched(org, n, 113), bench.born(n), bench.touched(org, n, 113), bench.archived(org, n, 115)
from bench.sizes cross join lateral generate_series(1, opportunities) n;

insert into quotes (organization_id, id, opportunity_id, title, status, destination, customer_id, price, currency, token, open_count,
  first_opened_at, last_opened_at, published_at, created_at, updated_at, archived_at)
select bench.id('organization', org, org), bench.id('quote', org, n), bench.id('opportunity', org, opportunity),
  'Propuesta ' || bench.place(org, n, 120) || case when bench.chance(20, org, n, 121) then ' en familia' else '' end
    || case when n % 400000 = 7 then ' con mina de zafiro' else '' end,
  status, bench.place(org, n, 120), bench.id('customer', org, 1 + bench.noise(org, opportunity, 102) % customers),
  900 + bench.noise(org, n, 123) % 6000, 'USD', md5(org || ' ' || n),
  case when published then bench.noise(org, n, 124) % 9 else 0 end,
  case when published then bench.born(n) + interval '1 hour' end, case when published then bench.born(n) + interval '2 days' end,
  case when published then bench.born(n) end, bench.born(n), bench.touched(org, n, 125), bench.archived(org, n, 127)
from bench.sizes cross join lateral generate_series(1, quotes) n
cross join lateral (select 1 + bench.noise(org, n, 122) % opportunities as opportunity,
  bench.pick(array['draft','published','published','published','disabled'], org, n, 128) as status) chosen
cross join lateral (select status <> 'draft' as published) state;

insert into quote_attachments (organization_id, id, quote_id, file_name, kind, mime_type, size_bytes, created_at)
select bench.id('organization', org, org), bench.id('attachment', org, n), bench.id('quote', org, n),
  'propuesta-' || n || '.pdf', 'itinerary', 'application/pdf', 10000 + bench.noise(org, n, 129) % 900000, bench.born(n)
from bench.sizes cross join lateral generate_series(1, quotes) n where n % 3 = 0;

-- Every 20th conversation, from the first one, starts a chain of three rotated threads.
insert into conversations (organization_id, id, channel, contact, contact_key, contact_name, customer_id, activity_state,
  controlled_by, language, rotated_from, continued_by, chain_id, message_count, last_message_at, created_at, updated_at)
select bench.id('organization', org, org), bench.id('conversation', org, n), channel,
  case when channel = 'whatsapp' then bench.whatsapp(customer) else bench.email(org, customer) end,
  case when channel = 'whatsapp' then bench.whatsapp_key(customer) else bench.email(org, customer) end,
  bench.first_name(org, customer) || case when bench.chance(20, org, first, 136) then ' y familia' else '' end
    || case when first % 400000 = 7 then ' Zafiro' else '' end,
  bench.id('customer', org, customer),
  bench.pick(array['waiting_for_agency','waiting_for_customer','waiting_for_customer','closed','closed'], org, n, 131),
  case when bench.chance(80, org, n, 132) then 'agent' else 'member' end,
  bench.pick(array['es','es','es','pt','en'], org, first, 133),
  case when place > 0 then bench.id('conversation', org, n - 1) end,
  case when chained and place < 2 and n < conversations then bench.id('conversation', org, n + 1) end,
  bench.id('conversation', org, first), messages, last, bench.born(n), last
from bench.sizes cross join lateral generate_series(1, conversations) n
cross join lateral (select n % 20 between 1 and 3 as chained) chain
cross join lateral (select case when chained then (n % 20 - 1)::int else 0 end as place) position
cross join lateral (select n - place as first) start
cross join lateral (select 1 + bench.noise(org, first, 134) % customers as customer, 10 + (n * 7 % 31)::int as messages,
  bench.pick(array['whatsapp','whatsapp','whatsapp','whatsapp','whatsapp','whatsapp','whatsapp','instagram','web','email'],
    org, first, 135) as channel) chosen
cross join lateral (select bench.born(n) + messages * interval '90 seconds' as last) latest;

create view bench.messages as
select organization_id, id as conversation_id, m as arrival,
  (lpad(to_hex(1733011200000 + n * 60000 + m * 90000), 12, '0') || '7009' || substr(id::text, 20, 4)
    || lpad(to_hex(m), 4, '0') || right(id::text, 8))::uuid as id,
  case when m % 2 = 0 then 'Claro, ' else 'Hola, ' end || bench.remark(0, n * 50 + m, 140) as content,
  case when m % 2 = 0 then 'outbound' else 'inbound' end as direction, 'text' as message_type,
  case when m % 2 = 0 then 'Agente' else contact_name end as sender_name, created_at + m * interval '90 seconds' as created_at, channel
from conversations cross join lateral (select ('x' || right(id::text, 12))::bit(48)::bigint as n) number
cross join lateral generate_series(1, message_count) m;

insert into whatsapp_messages (organization_id, conversation_id, arrival, id, content, direction, message_type, sender_name, created_at)
select organization_id, conversation_id, arrival, id, content, direction, message_type, sender_name, created_at
from bench.messages where channel = 'whatsapp';

insert into channel_messages (organization_id, conversation_id, arrival, id, content, direction, message_type, sender_name, created_at)
select organization_id, conversation_id, arrival, id, content, direction, message_type, sender_name, created_at
from bench.messages where channel <> 'whatsapp';
