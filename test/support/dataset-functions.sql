-- Everything about a row follows from its organization and number, so that every load makes the same data.
create schema bench;

-- A number from 0 up, the same every time, unlike for each salt.
create function bench.noise(org int, n bigint, salt int) returns int language sql immutable parallel safe
  return (hashint8extended(org * 1000000007::bigint + n, salt) & 2147483647)::int;

create function bench.pick(choices text[], org int, n bigint, salt int) returns text language sql immutable parallel safe
  return choices[1 + bench.noise(org, n, salt) % cardinality(choices)];

-- True for so many of a hundred.
create function bench.chance(percent int, org int, n bigint, salt int) returns boolean language sql immutable parallel safe
  return bench.noise(org, n, salt) % 100 < percent;

-- One row a minute, so that ids and times grow together.
create function bench.born(n bigint) returns timestamptz language sql immutable parallel safe
  return '2024-12-01T00:00:00Z'::timestamptz + n * interval '1 minute';

-- Three of ten were touched again later, up to a month after.
create function bench.touched(org int, n bigint, salt int) returns timestamptz language sql immutable parallel safe
  return bench.born(n) + case when bench.chance(30, org, n, salt)
    then bench.noise(org, n, salt + 1) % 2592000 * interval '1 second' else interval '0' end;

-- A UUIDv7: milliseconds, then what the row is. dataset.ts has the same numbers.
create function bench.id(kind text, org int, n bigint) returns uuid language sql immutable parallel safe
  return (lpad(to_hex(1733011200000 + n * 60000), 12, '0') || '7' || case kind when 'organization' then '001'
    when 'customer' then '002' when 'product' then '003' when 'opportunity' then '004' when 'conversation' then '005'
    when 'quote' then '006' when 'stage' then '007' when 'member' then '008' when 'whatsapp' then '010' when 'email' then '011'
    when 'low season' then '018' when 'high season' then '019' when 'attachment' then '020' end
    || '8' || lpad(to_hex(org), 3, '0') || lpad(to_hex(n), 12, '0'))::uuid;

-- Two of a hundred are archived.
create function bench.archived(org int, n bigint, salt int) returns timestamptz language sql immutable parallel safe
  return case when bench.chance(2, org, n, salt) then bench.touched(org, n, salt) end;

-- One choice to all five, next to each other.
create function bench.some(choices text[], org int, n bigint, salt int) returns text[] language sql immutable parallel safe
  return choices[1 + bench.noise(org, n, salt) % 3:3 + bench.noise(org, n, salt + 1) % 3];

-- Unique within the organization without being consecutive. Half of the numbers are Mexican, with the 1 that the key drops.
create function bench.digits(n bigint) returns text language sql immutable parallel safe
  return lpad(((n * 7919 + 104729) % 1000000000)::text, 9, '0');
create function bench.whatsapp(n bigint) returns text language sql immutable parallel safe
  return case when n % 2 = 0 then '+573' else '+5215' end || bench.digits(n);
create function bench.whatsapp_key(n bigint) returns text language sql immutable parallel safe
  return case when n % 2 = 0 then '+573' else '+525' end || bench.digits(n);

create function bench.first_name(org int, n bigint) returns text language sql immutable parallel safe
  return case when bench.chance(92, org, n, 11) then bench.pick(array['Ana','José','Lucía','Martín','Sofía','Andrés','María',
    'Julián','Camila','Sebastián','Valentina','Tomás','Inés','Rodrigo','Paula','Ramón','Elena','Óscar','Beatriz','Iván','Natalia',
    'Simón','Gabriela','Héctor','Daniela','Matías','Carolina','Fermín','Adriana','Joaquín'], org, n, 12) end;
create function bench.last_name(org int, n bigint) returns text language sql immutable parallel safe
  return case when bench.chance(92, org, n, 11) then bench.pick(array['Peña','Gómez','Rodríguez','Núñez','Ibáñez','Castro',
    'Muñoz','Vargas','Ríos','Álvarez','Cárdenas','Molina','Sánchez','Ortiz','Quintero','Benítez','Salazar','Duarte','Méndez','Rojas',
    'Villalobos','Echeverri','Paredes','Acosta','Zúñiga','Londoño','Figueroa','Aguirre','Bermúdez','Córdoba','Trujillo','Escobar',
    'Naranjo','Palacios','Restrepo','Solís','Tapia','Urrutia','Valencia','Yáñez'], org, n, 13) end;
create function bench.email(org int, n bigint) returns text language sql immutable parallel safe
  return coalesce(translate(lower(bench.first_name(org, n) || '.' || bench.last_name(org, n)), 'áéíóúñ', 'aeioun'), 'lead') || n || '@example.com';

create function bench.place(org int, n bigint, salt int) returns text language sql immutable parallel safe
  return bench.pick(array['Bariloche','Cartagena','Cusco','Oaxaca','San Andrés','Punta Cana','Atacama','Bogotá','Tulum','Mendoza',
    'Galápagos','Iguazú','Salta','Medellín','Machu Picchu','Torres del Paine','Cancún','Eje Cafetero','Uyuni','Florianópolis'],
    org, n, salt);

-- One in 400,000 holds the rare word, one in five the common one.
create function bench.remark(org int, n bigint, salt int) returns text language sql immutable parallel safe
  return case when n % 400000 = 7 then 'Colecciona piedras: pidió visitar la mina de zafiro. ' else '' end
    || case when bench.chance(20, org, n, salt) then 'Viaja con su familia' else bench.pick(array['Viaja en pareja','Viaja sola',
      'Viaja con un grupo de amigos','Viaja por trabajo'], org, n, salt + 1) end
    || ' y le interesa ' || bench.place(org, n, salt + 2) || ' en ' || bench.pick(array['enero','semana santa','julio','octubre',
      'diciembre'], org, n, salt + 3) || '. ' || bench.pick(array['Prefiere hoteles pequeños.','Pide vuelos directos.',
      'Comparó con otra agencia.','Ya viajó con nosotros.','Paga en tres cuotas.'], org, n, salt + 4);

create function bench.included(org int, n bigint) returns text[] language sql immutable parallel safe
  return bench.some(array['Hotel','Traslados','Desayuno','Guía local','Seguro de viaje'], org, n, 62);

-- Contacts and variants as the service stores them: as JSON, with the fields in the order of the response.
create function bench.contact(id uuid, type text, value text, phone text) returns json language sql immutable parallel safe
  return (select row_to_json(contact) from (select id, type as "identifierType", value as "identifierValue",
    null::text as "displayName", phone as "phoneNumber") contact);

create function bench.variant(org int, n bigint, place int, season text) returns json language sql immutable parallel safe
  return (select row_to_json(variant) from (select bench.id(season || ' season', org, n) as id,
    case season when 'low' then 'Temporada baja' else 'Temporada alta' end as label, place as position, 'active' as status,
    null::text as "capacityMin", 16 as "capacityMax", 'USD' as currency,
    'Salidas todos los ' || bench.pick(array['lunes','miércoles','viernes','sábados'], org, n, 80 + place) || '.' as description,
    null::text as "shortDescription", 3 + bench.noise(org, n, 41) % 12 as "durationDays", null::text as "durationHours",
    bench.included(org, n) as includes, '{Vuelos}'::text[] as excludes,
    300 + bench.noise(org, n, 66) % 3000 + 400 * place as "fromPrice",
    3500 + bench.noise(org, n, 67) % 3000 + 400 * place as "priceMax") variant);
