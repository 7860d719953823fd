/**
 * The products of the demo agency, two lines each: code, language, type, status, pricing mode, tier, theme, currency, from,
 * up to, duration in days or hours | destinations; then title | highlight. A dash is an absent value.
 */
export const catalog = `
MEX-001 es package active per_person mid beach MXN 18900 26400 5d | Cancún, Isla Mujeres
  Cancún e Isla Mujeres en 5 días | Playa, arrecife y una mañana entera en Isla Mujeres en carrito de golf.
MEX-002 es package active per_person premium beach MXN 38500 61200 8d | Playa del Carmen, Tulum, Bacalar
  Riviera Maya y Bacalar todo incluido | De la Quinta Avenida a la laguna de los siete colores, sin sacar la cartera.
MEX-003 es package active per_person mid culture MXN 21700 29900 5d | Oaxaca, Monte Albán, Hierve el Agua
  Oaxaca en Día de Muertos | Comparsas, panteones iluminados y un taller de pan de muerto con familia oaxaqueña.
MEX-004 es package active per_person economic city MXN 9800 14600 4d | Ciudad de México, Teotihuacán, Xochimilco
  Ciudad de México, Teotihuacán y Xochimilco | Centro Histórico a pie, pirámides al amanecer y trajinera con mariachi.
MEX-005 es package active per_person mid nature MXN 24300 33100 6d | Chihuahua, Creel, El Fuerte
  Barrancas del Cobre a bordo del Chepe | El tren Chepe Express por los miradores de Divisadero y los pueblos rarámuri.
MEX-006 es package active per_person economic nature MXN 8900 12800 4d | Ciudad Valles, Xilitla, Tamasopo
  Huasteca Potosina: cascadas turquesa | Salto de siete cascadas, Tamul en lancha y el jardín surrealista de Xilitla.
MEX-007 es package active per_person economic culture MXN 13200 17900 6d | San Cristóbal de las Casas, Palenque, Cañón del Sumidero
  Chiapas esencial: selva y pueblos mágicos | Palenque temprano, Agua Azul sin prisas y noches de café en San Cristóbal.
MEX-008 es experience active per_person premium taste MXN 2950 4200 9h | Ensenada, Valle de Guadalupe
  Valle de Guadalupe: tres bodegas en un día | Tres bodegas boutique, comida de campo y regreso sin tener que manejar.
MEX-009 en expedition active per_person premium nature USD 1890 2450 5d | Loreto, San Ignacio Lagoon
  Gray Whales of San Ignacio Lagoon | Five days in a lagoon camp where the whales swim up to your boat.
MEX-010 es experience active per_person mid taste MXN 2600 3900 10h | Guadalajara, Tequila
  Tequila a bordo del tren José Cuervo | Tren, destilería y campos de agave azul, con mariachi de ida y vuelta.
MEX-011 es package active per_person mid culture MXN 16400 22500 5d | Mérida, Chichén Itzá, Valladolid
  Yucatán: Mérida, cenotes y Chichén Itzá | Haciendas henequeneras, tres cenotes y Chichén Itzá antes de los autobuses.
MEX-012 en experience active per_person economic taste USD 58 75 4h | Mexico City
  Street Food Walk in Mexico City | Ten stops from tlacoyos to churros with a cook who grew up in the neighbourhood.
MEX-013 en package active per_group premium beach USD 9400 12600 7d | La Paz, Isla Espíritu Santo
  Private Sailing in the Sea of Cortez | A crewed catamaran for up to eight, sea lions before breakfast.
ARG-001 es package active per_person mid nature USD 1450 1790 8d | Bariloche, Villa La Angostura, San Martín de los Andes
  Patagonia Norte en 8 días | La Ruta de los Siete Lagos sin apuro, con navegación a Puerto Blest.
ARG-002 es package active per_person mid nature USD 1180 1520 6d | El Calafate, El Chaltén
  Glaciares y Fitz Roy | Pasarelas del Perito Moreno y trekking a Laguna de los Tres al amanecer.
ARG-003 es package active per_person mid snow USD 980 1390 5d | Ushuaia
  Ushuaia, fin del mundo | Canal Beagle, pingüineras y el Tren del Fin del Mundo, con o sin nieve.
ARG-004 es package active per_person economic nature ARS 684000 892000 3d | Puerto Iguazú, Cataratas del Iguazú
  Cataratas del Iguazú de los dos lados | Garganta del Diablo, lado brasileño y un paseo en gomón bajo el salto.
ARG-005 es package active per_person premium taste USD 1320 2100 4d | Mendoza, Valle de Uco, Luján de Cuyo
  Mendoza: vinos de altura | Seis bodegas entre Luján y Valle de Uco, con almuerzos de pasos frente a los Andes.
ARG-006 es package active per_person economic culture ARS 738000 965000 6d | Salta, Purmamarca, Humahuaca, Cafayate
  Salta, Quebrada de Humahuaca y Cafayate | Cerros de colores, Salinas Grandes y peña salteña con empanadas.
ARG-007 en experience active per_person mid city USD 85 120 5h | Buenos Aires
  Buenos Aires by Night: Tango and Bodegones | A tango class, a century-old bodegón and a milonga where nobody performs for tourists.
ARG-008 es expedition active per_person mid nature USD 890 1150 4d | Puerto Madryn, Península Valdés
  Península Valdés: ballenas y pingüinos | Ballena franca a metros de la lancha y la colonia de Punta Tombo.
ARG-009 es experience active per_person mid snow USD 240 310 9h | El Calafate
  Minitrekking sobre el Perito Moreno | Hora y media con crampones sobre el hielo y un brindis al final.
ARG-010 es expedition paused per_person premium snow USD 1980 2600 7d | Mendoza, Plaza de Mulas
  Aconcagua: campamento base Plaza de Mulas | Siete días de aproximación a 4.300 metros, con mulas y guía de montaña.
PAT-001 en package active per_person premium nature USD 4290 5600 11d | Buenos Aires, El Calafate, Torres del Paine
  Patagonia Highlights: Buenos Aires to Torres del Paine | Two countries, one glacier and four nights facing the Paine massif.
CHI-001 es expedition active per_person mid nature USD 1650 2050 6d | Puerto Natales, Torres del Paine
  Torres del Paine: circuito W | Los cinco días del W con refugios reservados y porteo opcional.
CHI-002 es package active per_person mid nature USD 760 990 4d | San Pedro de Atacama, Valle de la Luna
  San Pedro de Atacama y sus estrellas | Géiseres del Tatio, lagunas altiplánicas y una noche de telescopios.
CHI-003 pt package active per_person mid snow BRL 6890 9400 6d | Santiago, Valle Nevado, Viña del Mar
  Neve no Chile: Santiago e Valle Nevado | Dois dias de esqui com aula em português e um dia de vinícolas no Maipo.
BRA-001 pt package active per_person mid city BRL 3490 5100 5d | Rio de Janeiro
  Rio de Janeiro em 5 dias | Cristo Redentor no primeiro trem, samba na Lapa e pôr do sol no Arpoador.
BRA-002 pt package active per_person premium beach BRL 8900 13800 6d | Fernando de Noronha
  Fernando de Noronha com mergulho | Baía do Sancho, batismo de mergulho e trilha do Atalaia com hora marcada.
BRA-003 pt package active per_person mid nature BRL 4650 6200 6d | São Luís, Barreirinhas, Atins
  Lençóis Maranhenses na cheia das lagoas | Circuito de lagoas, redário em Atins e sobrevoo opcional.
BRA-004 pt expedition active per_person mid nature BRL 3980 4900 6d | Lençóis, Vale do Pati, Chapada Diamantina
  Travessia do Vale do Pati | Cinco dias a pé dormindo em casas de moradores, com a Cachoeira por Cima.
BRA-005 pt package active per_person premium nature BRL 7200 10900 5d | Manaus, Rio Negro
  Amazônia: lodge de selva no Rio Negro | Encontro das Águas, focagem noturna e visita a uma comunidade ribeirinha.
BRA-006 pt package active per_person mid family BRL 3150 4700 5d | Gramado, Canela
  Natal Luz em Gramado e Canela | Grande Desfile, Maria Fumaça e fondue com lugar reservado.
BRA-007 pt package active per_person economic beach BRL 2890 4100 7d | Salvador, Morro de São Paulo
  Salvador e Morro de São Paulo | Pelourinho com guia baiano e quatro noites na Segunda Praia.
BRA-008 pt package active per_person mid nature BRL 3760 4980 5d | Bonito, Bodoquena
  Bonito: flutuação e grutas | Rio da Prata, Gruta do Lago Azul e Boca da Onça, tudo com voucher único.
BRA-009 en expedition active per_person premium nature USD 2350 2900 6d | Cuiabá, Porto Jofre
  Pantanal Jaguar Photo Safari | Four days on the Cuiabá river with a boat per three photographers.
BRA-010 pt experience active per_group mid beach BRL 1450 1900 6h | Paraty
  Paraty de saveiro pelas ilhas | Saveiro privativo para até doze pessoas, quatro paradas e almoço a bordo.
BRA-011 pt package active total economic family BRL 7900 9900 6d | Florianópolis
  Florianópolis com crianças | Apartamento para quatro em Jurerê, carro com cadeirinha e um dia no Projeto Tamar.
BRA-012 en experience draft per_person mid city USD 72 95 3.5h | Rio de Janeiro
  Rio at Sunrise: Sugarloaf and Urca | Up the trail before the cable car opens, breakfast on the Urca sea wall.
PER-001 es package active per_person mid culture USD 1090 1480 6d | Cusco, Valle Sagrado, Machu Picchu
  Machu Picchu y Valle Sagrado | Circuito 2 confirmado, tren panorámico y dos noches en Ollantaytambo.
PER-002 es expedition active per_person mid nature USD 780 940 4d | Cusco, Camino Inca, Machu Picchu
  Camino Inca clásico de 4 días | Permisos a tu nombre, porteadores y entrada por la Puerta del Sol.
PER-003 es experience active per_person premium taste USD 135 180 6h | Lima
  Lima gastronómica: mercado, cebiche y pisco | Mercado de Surquillo con cocinero, clase de cebiche y cata de piscos en Barranco.
PER-005 pt package active per_person mid culture BRL 5980 7900 6d | Lima, Cusco, Machu Picchu
  Machu Picchu no feriado | Voo, trem e ingresso garantidos, com guia em português o tempo todo.
COL-001 es package active per_person mid beach COP 2350000 3400000 5d | Cartagena, Islas del Rosario
  Cartagena e Islas del Rosario | Ciudad amurallada al atardecer y un día de isla con almuerzo de pescado frito.
COL-002 es package active per_person economic taste COP 1690000 2280000 4d | Salento, Filandia, Valle del Cocora
  Eje Cafetero: Salento y Cocora | Finca cafetera, palmas de cera y Willys hasta el último mirador.
COL-003 es package active per_person economic city COP 1240000 1760000 4d | Medellín, Guatapé
  Medellín y Guatapé | Comuna 13 con artista local, metrocable y los 740 escalones del Peñol.
COL-004 en expedition active per_person economic nature USD 460 540 4d | Santa Marta, Ciudad Perdida
  Trek to the Lost City | Four days through Kogi land, river crossings and 1,200 stone steps at the end.
COL-005 es package paused per_person mid beach COP 2980000 3990000 5d | San Andrés, Providencia
  San Andrés y Providencia | Mar de siete colores, Cayo Cangrejo y vuelta a la isla en mula.
LAT-001 es package active per_person mid family USD 1390 1850 8d | San José, La Fortuna, Manuel Antonio
  Costa Rica en familia | Volcán Arenal, canopy para niños desde cinco años y playa con perezosos.
LAT-002 en expedition active per_person premium nature USD 4980 7200 8d | Baltra, Isabela, Fernandina
  Galápagos Western Islands Cruise | Sixteen guests, two naturalists and the islands day trips do not reach.
LAT-003 es expedition active per_group economic nature USD 1260 1500 3d | Uyuni, Laguna Colorada
  Salar de Uyuni y lagunas de colores | Camioneta 4x4 para hasta seis, noche en hotel de sal y cielo de altura.
EUR-001 es package active per_person mid city EUR 2290 2980 13d | Madrid, París, Roma
  Europa clásica: Madrid, París y Roma | Trenes de alta velocidad, hoteles céntricos y entradas al Louvre y al Vaticano.
EUR-002 es package active per_person premium taste EUR 2650 3700 8d | Florencia, Siena, Montalcino
  Toscana en auto: vino y aceite | Agroturismos, Brunello en Montalcino y una mañana buscando trufa.
EUR-003 pt package active per_person mid culture EUR 1780 2350 9d | Porto, Douro, Lisboa, Sintra
  Portugal de norte a sul | Caves do Porto, comboio do Douro e pastéis em Belém à hora certa.
EUR-004 en package draft per_person premium snow EUR 2480 3200 6d | Reykjavík, Vík, Jökulsárlón
  Iceland: Ice Caves and Northern Lights | A small-group loop of the south coast, with three nights set aside for the aurora.
JPN-001 es package active per_person premium culture USD 3890 5200 12d | Tokio, Hakone, Kioto, Osaka
  Japón en flor de cerezo | Sakura en Kioto, ryokan con onsen en Hakone y JR Pass de 7 días.
JPN-002 pt package active per_person premium culture USD 3990 5350 13d | Tóquio, Takayama, Quioto, Nara
  Outono no Japão | Folhas vermelhas em Quioto, vilas de Takayama e guia brasileiro em Tóquio.
CUS-001 es custom active total premium beach - - - - | Maldivas, Dubái
  Luna de miel a medida | Nos cuentan cómo se conocieron y diseñamos el viaje desde ahí.
CUS-002 pt custom active per_group - family USD 38000 - 10d | Orlando, Miami
  15 anos em Orlando: grupo de debutantes | Grupo de vinte debutantes com monitoras, jantar de gala e parques sem fila.
CUS-003 es custom draft total - city - - - - | Punta Cana, Cartagena, Los Cabos
  Viaje de incentivo para empresas | De 30 a 300 personas, con sede, cena de premiación y reporte para finanzas.
`;
