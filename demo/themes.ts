/** Texts about travel by theme, in the agency's three languages. */

export type Language = 'es' | 'pt' | 'en';
/** The locale of each language, for numbers and dates. */
export const locales: Record<Language, string> = { es: 'es-MX', pt: 'pt-BR', en: 'en-GB' };

export type Theme = 'beach' | 'nature' | 'culture' | 'city' | 'taste' | 'snow' | 'family';

/** For each theme: a sentence that describes it, then activities of a day. */
export const themes: Record<Language, Record<Theme, { mood: string; days: readonly string[] }>> = {
  es: {
    beach: {
      mood: 'Pensado para descansar de verdad: pocos traslados y hotel frente al mar.',
      days: [
        'Mañana libre de playa y snorkel en el arrecife',
        'Navegación con parada para nadar y almuerzo a bordo',
        'Paseo en bicicleta por el malecón y atardecer con música en vivo',
        'Día libre; la concierge reserva kayak o masaje frente al mar',
      ],
    },
    nature: {
      mood: 'Grupos chicos, guías locales y tiempo para mirar sin correr.',
      days: [
        'Caminata guiada de media jornada hasta el mirador principal',
        'Salida temprano para ver fauna, con desayuno en el camino',
        'Navegación por los sitios a los que no se llega a pie',
        'Sendero corto por la mañana y tarde libre en el pueblo',
      ],
    },
    culture: {
      mood: 'Historia contada por quien la vive, con mercados, talleres y mesas largas.',
      days: [
        'Recorrido arqueológico con guía certificado antes de que abra el público general',
        'Visita a un taller artesanal y comida en casa de la familia anfitriona',
        'Centro histórico a pie, con entradas a los museos incluidas',
        'Mercado por la mañana y tarde libre para compras',
      ],
    },
    city: {
      mood: 'Lo imprescindible con entradas compradas y barrios que no salen en la postal.',
      days: [
        'Visita panorámica y subida al mirador más alto con acceso preferente',
        'Museos por la mañana y recorrido de arte urbano por la tarde',
        'Cena con espectáculo y regreso en transporte privado',
        'Día libre con una lista de recomendaciones del equipo',
      ],
    },
    taste: {
      mood: 'Se viaja a comer y a brindar: productores, cocineros y sobremesa.',
      days: [
        'Visita a dos productores con degustación guiada',
        'Clase de cocina con ingredientes comprados en el mercado',
        'Almuerzo maridado de cinco pasos',
        'Mañana entre viñedos y tarde libre en el hotel',
      ],
    },
    snow: {
      mood: 'Frío del bueno, con equipo incluido y chocolate caliente al final.',
      days: [
        'Caminata con crampones y guía de montaña',
        'Clase de esquí o snowboard para principiantes, equipo incluido',
        'Navegación entre témpanos con parada en el refugio',
        'Tarde de aguas termales y cena junto a la chimenea',
      ],
    },
    family: {
      mood: 'Ritmo de familia: sin madrugones seguidos y con plan B si llueve.',
      days: [
        'Parque de aventura con actividades desde los cinco años',
        'Día de alberca y taller para niños por la tarde',
        'Paseo corto de naturaleza con guía que sabe de bichos',
        'Show al atardecer con lugares reservados',
      ],
    },
  },
  pt: {
    beach: {
      mood: 'Feito para descansar de verdade: poucos traslados e pousada pé na areia.',
      days: [
        'Manhã livre de praia e snorkel nas piscinas naturais',
        'Passeio de barco com parada para banho e almoço a bordo',
        'Trilha leve até a praia mais bonita e pôr do sol com música',
        'Dia livre; a equipe reserva mergulho ou massagem à beira-mar',
      ],
    },
    nature: {
      mood: 'Grupos pequenos, guias da região e tempo para olhar sem pressa.',
      days: [
        'Caminhada guiada até o mirante principal',
        'Saída cedo para ver os bichos, com café da manhã no caminho',
        'Flutuação em rio de água cristalina com equipamento incluído',
        'Trilha curta pela manhã e tarde livre na vila',
      ],
    },
    culture: {
      mood: 'História contada por quem a vive, com mercados, oficinas e mesa farta.',
      days: [
        'Visita ao sítio histórico com guia em português e ingresso com hora marcada',
        'Oficina de artesanato e almoço na casa de uma família',
        'Centro histórico a pé, com entradas dos museus incluídas',
        'Mercado pela manhã e tarde livre para compras',
      ],
    },
    city: {
      mood: 'O imperdível com ingresso comprado e bairros que não saem no cartão-postal.',
      days: [
        'Passeio panorâmico e subida ao mirante com acesso prioritário',
        'Museus pela manhã e roda de samba à noite',
        'Bairros boêmios com guia e jantar em mesa comunitária',
        'Dia livre com a lista de dicas da equipe',
      ],
    },
    taste: {
      mood: 'Viagem para comer e brindar: produtores, cozinheiros e boa conversa.',
      days: [
        'Visita a dois produtores com degustação guiada',
        'Aula de cozinha com compras no mercado',
        'Almoço harmonizado em cinco tempos',
        'Manhã entre vinhedos e tarde livre no hotel',
      ],
    },
    snow: {
      mood: 'Frio de verdade, com roupa alugada na chegada e chocolate quente no fim.',
      days: [
        'Aula de esqui para iniciantes com instrutor que fala português',
        'Dia livre na montanha com passe de meios de elevação',
        'Visita a vinícola com degustação de quatro rótulos',
        'Passeio pelo centro e jantar com vista para a cordilheira',
      ],
    },
    family: {
      mood: 'No ritmo da família: sem madrugar dois dias seguidos e com plano B para chuva.',
      days: [
        'Parque temático com entrada antecipada',
        'Dia de piscina e oficina para as crianças à tarde',
        'Passeio de trem com lanche incluído',
        'Show da noite com lugares reservados',
      ],
    },
  },
  en: {
    beach: {
      mood: 'Made for slowing down: short transfers and a place to stay on the water.',
      days: [
        'Morning snorkel on the reef and a free afternoon',
        'Sailing day with swim stops and lunch on board',
        'Paddle at sunrise, hammock at noon',
        'Free day; the crew can arrange diving or a massage on the beach',
      ],
    },
    nature: {
      mood: 'Small groups, local guides and time to look instead of rush.',
      days: [
        'Guided half-day hike to the main lookout',
        'Early start for wildlife, breakfast along the way',
        'Boat trip to the places no trail reaches',
        'Short trail in the morning, free afternoon in town',
      ],
    },
    culture: {
      mood: 'History told by those who live it, with markets, workshops and long tables.',
      days: [
        'Ruins with a certified guide before the crowds arrive',
        'Craft workshop and lunch with the host family',
        'Old town on foot, museum tickets included',
        'Market in the morning, free afternoon',
      ],
    },
    city: {
      mood: 'The essentials with tickets in hand, and neighbourhoods postcards leave out.',
      days: [
        'City highlights and the best viewpoint, skip-the-line',
        'Museums in the morning, street art in the afternoon',
        'Dinner and a show, private ride back',
        'Free day with a list of tips from the team',
      ],
    },
    taste: {
      mood: 'A trip to eat and toast: growers, cooks and time at the table.',
      days: [
        'Two producers with a guided tasting',
        'Cooking class with a stop at the market',
        'Five-course paired lunch',
        'Morning among the vines, free afternoon',
      ],
    },
    snow: {
      mood: 'Proper cold, with gear included and hot chocolate at the end.',
      days: [
        'Glacier walk with crampons and a mountain guide',
        'Ice cave visit with a naturalist',
        'Boat among the icebergs',
        'Hot springs and dinner by the fire',
      ],
    },
    family: {
      mood: 'Family pace: no two early mornings in a row and a plan B for rain.',
      days: [
        'Adventure park with activities from age five',
        'Pool day and a workshop for the children',
        'Short nature walk with a guide who knows bugs',
        'Evening show with reserved seats',
      ],
    },
  },
};
