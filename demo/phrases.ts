import type { Language } from './themes.ts';

/** The sentences of products and itineraries. */

type ProductTexts = {
  logistics: (days: number, stops: string) => string;
  hours: (hours: number, place: string) => string;
  bespoke: string;
  arrival: (place: string) => string;
  departure: (place: string) => string;
  includes: readonly string[];
  /** What a trip of some hours includes. */
  outing: readonly string[];
  excludes: readonly string[];
  conditions: readonly string[];
  basis: Record<'per_person' | 'per_group' | 'total' | 'outing', string>;
  /** Label, what it adds, and the factor of the price. */
  variants: Record<'package' | 'experience' | 'expedition' | 'custom', readonly [string, string, number][]>;
};

export const texts: Record<Language, ProductTexts> = {
  es: {
    logistics: (days, stops) =>
      `Son ${days} días y ${days - 1} noches en ${stops}, con traslados coordinados y teléfono de guardia las 24 horas.`,
    hours: (hours, place) => `Dura ${hours} horas con salida y regreso en ${place}.`,
    bespoke: 'Se cotiza según fechas, hotel y número de viajeros; la primera propuesta sale en 48 horas.',
    arrival: (place) => `Llegada a ${place}, traslado al hotel y cena de bienvenida`,
    departure: (place) => `Desayuno y regreso desde ${place}`,
    includes: [
      'Hotel con desayuno',
      'Traslados aeropuerto-hotel-aeropuerto',
      'Guía certificado en español',
      'Entradas a los sitios del itinerario',
      'Asistencia al viajero',
      'Una cena de bienvenida',
      'Impuestos locales',
    ],
    outing: [
      'Guía local en español',
      'Entradas y degustaciones',
      'Traslado desde el centro',
      'Seguro de actividad',
      'Grupo de máximo doce',
    ],
    excludes: [
      'Vuelos internacionales',
      'Propinas',
      'Gastos personales',
      'Comidas no mencionadas',
      'Seguro de cancelación',
    ],
    conditions: [
      'Se reserva con el 30 %; el saldo, 20 días antes de la salida. Cancelación sin costo hasta 45 días antes.',
      'Meses sin intereses con tarjetas participantes. Cambios de fecha con 15 días de anticipación.',
      'Sujeto a condiciones de clima; la actividad se reprograma o se devuelve el total.',
    ],
    basis: {
      per_person: 'Por persona en habitación doble',
      per_group: 'Por grupo',
      total: 'Precio total del viaje',
      outing: 'Por persona',
    },
    variants: {
      package: [
        ['Temporada baja', 'Salidas de mayo a junio y de septiembre a noviembre.', 1],
        ['Temporada alta', 'Semana Santa, julio, agosto y fin de año.', 1.28],
        ['Habitación sencilla', 'Para quien viaja por su cuenta.', 1.42],
        ['Con vuelos incluidos', 'Vuelo redondo con maleta documentada.', 1.55],
      ],
      experience: [
        ['Compartido', 'Grupo de hasta doce personas.', 1],
        ['Privado', 'Solo tu grupo, a la hora que prefieras.', 1.9],
        ['Niños de 5 a 11', 'Acompañados por un adulto.', 0.6],
      ],
      expedition: [
        ['Salida de marzo', 'Grupo confirmado, guía principal y asistente.', 1],
        ['Salida de julio', 'Vacaciones de invierno, cupo corto.', 1.15],
        ['Salida privada', 'Desde cuatro personas, fecha a elección.', 1.6],
      ],
      custom: [
        ['Propuesta esencial', 'Hoteles de cuatro estrellas y traslados compartidos.', 1],
        ['Propuesta premium', 'Hoteles de cinco estrellas y servicios privados.', 1.7],
      ],
    },
  },
  pt: {
    logistics: (days, stops) =>
      `São ${days} dias e ${days - 1} noites em ${stops}, com traslados combinados e plantão 24 horas.`,
    hours: (hours, place) => `Dura ${hours} horas, com saída e retorno em ${place}.`,
    bespoke: 'Orçamento conforme datas, hotel e número de viajantes; a primeira proposta sai em 48 horas.',
    arrival: (place) => `Chegada em ${place}, traslado ao hotel e jantar de boas-vindas`,
    departure: (place) => `Café da manhã e retorno a partir de ${place}`,
    includes: [
      'Hospedagem com café da manhã',
      'Traslados de chegada e saída',
      'Guia credenciado em português',
      'Ingressos do roteiro',
      'Seguro viagem',
      'Jantar de boas-vindas',
      'Taxas de turismo',
    ],
    outing: [
      'Guia local em português',
      'Ingressos e degustações',
      'Água e frutas a bordo',
      'Seguro de atividade',
    ],
    excludes: ['Passagens aéreas', 'Gorjetas', 'Bebidas', 'Refeições não mencionadas', 'Despesas pessoais'],
    conditions: [
      'Entrada de 30 % por Pix e saldo em até 10 vezes sem juros. Cancelamento grátis até 45 dias antes.',
      'Remarcação sem taxa com 15 dias de antecedência, sujeita a disponibilidade.',
      'Depende das condições do tempo; o passeio é remarcado ou devolvido.',
    ],
    basis: {
      per_person: 'Por pessoa em apartamento duplo',
      per_group: 'Por grupo',
      total: 'Valor total da viagem',
      outing: 'Por pessoa',
    },
    variants: {
      package: [
        ['Baixa temporada', 'Saídas de março a junho e de agosto a novembro.', 1],
        ['Alta temporada', 'Janeiro, Carnaval, julho e Réveillon.', 1.35],
        ['Apartamento individual', 'Para quem viaja por conta própria.', 1.45],
        ['Com aéreo de São Paulo', 'Ida e volta com bagagem despachada.', 1.5],
      ],
      experience: [
        ['Compartilhado', 'Grupo de até doze pessoas.', 1],
        ['Privativo', 'Só o seu grupo, na hora que preferir.', 1.9],
      ],
      expedition: [
        ['Saída de maio', 'Grupo confirmado com guia e auxiliar.', 1],
        ['Saída de julho', 'Férias escolares, poucas vagas.', 1.12],
        ['Saída privativa', 'A partir de quatro pessoas.', 1.6],
      ],
      custom: [
        ['Grupo de 20', 'Duas monitoras e ônibus exclusivo.', 1],
        ['Grupo de 30', 'Três monitoras e ônibus exclusivo.', 1.4],
      ],
    },
  },
  en: {
    logistics: (days, stops) =>
      `${days} days and ${days - 1} nights in ${stops}, with every transfer arranged and someone to call day and night.`,
    hours: (hours, place) => `Lasts ${hours} hours, starting and ending in ${place}.`,
    bespoke: 'Priced by dates, hotels and travellers; a first proposal within 48 hours.',
    arrival: (place) => `Arrival in ${place}, transfer to the hotel and welcome dinner`,
    departure: (place) => `Breakfast and journey home from ${place}`,
    includes: [
      'Accommodation with breakfast',
      'All ground transfers',
      'English-speaking local guide',
      'Entrance fees on the itinerary',
      'Welcome dinner',
      'Park and local taxes',
    ],
    outing: ['Local host', 'All tastings and tickets', 'Hotel pickup', 'Activity insurance'],
    excludes: [
      'International flights',
      'Tips',
      'Travel insurance',
      'Meals not mentioned',
      'Personal expenses',
    ],
    conditions: [
      'A 30% deposit books it; the balance is due 30 days before departure. Free cancellation up to 60 days out.',
      'Weather permitting: we rebook or refund in full.',
      'Moderate fitness required; tell us about any medical condition when booking.',
    ],
    basis: {
      per_person: 'Per person sharing',
      per_group: 'Per group',
      total: 'Total price',
      outing: 'Per person',
    },
    variants: {
      package: [
        ['Green season', 'April to June and September to November.', 1],
        ['Peak season', 'July, August and the holidays.', 1.3],
        ['Single room', 'For those travelling on their own.', 1.4],
      ],
      experience: [
        ['Small group', 'Up to ten people.', 1],
        ['Private', 'Just your party, at the hour you like.', 2],
        ['Vegetarian', 'Same stops, other plates.', 1],
      ],
      expedition: [
        ['February departure', 'Guaranteed with four travellers.', 1],
        ['August departure', 'Dry season, best light.', 1.2],
        ['Private departure', 'From four people, any date.', 1.6],
      ],
      custom: [['On request', 'Tell us what you have in mind.', 1]],
    },
  },
};
