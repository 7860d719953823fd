import { listOf, rowsOf } from './random.ts';
import type { Language } from './themes.ts';

/** The agency's travellers: countries, formats of telephone numbers, names and wishes. */

export type Home = {
  country: string;
  code: string;
  language: Language;
  /** Percentage of the customers. */
  share: number;
  /** Cities with their area codes; one code for all cities if mobile numbers have none. */
  cities: readonly { name: string; area: string }[];
  /** Digits of a mobile number after the area code. */
  digits: number;
  /** How people write a mobile number: A is the area code, each X a digit. */
  mobiles: readonly string[];
  landline: string;
};

const cities = (text: string) =>
  listOf(text).map((entry) => {
    const [name = '', area = ''] = entry.split(':');
    return { name, area };
  });

export const homes: readonly Home[] = [
  {
    country: 'México',
    code: 'MX',
    language: 'es',
    share: 38,
    cities: cities('Ciudad de México:55, Guadalajara:33, Monterrey:81, Ciudad de México:56'),
    digits: 8,
    mobiles: [
      '+52 1 A XXXX XXXX',
      '+52AXXXXXXXX',
      '521AXXXXXXXX',
      '0052 A XXXX-XXXX',
      '+52 (A) XXXX XXXX',
      '+521AXXXXXXXX',
    ],
    landline: '+52 A XXXX XXXX',
  },
  {
    country: 'México',
    code: 'MX',
    language: 'es',
    share: 10,
    cities: cities('Puebla:222, Mérida:999, Querétaro:442, Tijuana:664, Oaxaca:951, León:477'),
    digits: 7,
    mobiles: ['+52 1 A XXX XXXX', '52AXXXXXXX', '+52 A XXX XX XX', '00521AXXXXXXX'],
    landline: '+52 (A) XXX XXXX',
  },
  {
    country: 'Brasil',
    code: 'BR',
    language: 'pt',
    share: 20,
    cities: cities(
      'São Paulo:11, Rio de Janeiro:21, Belo Horizonte:31, Porto Alegre:51, Curitiba:41, Salvador:71, Recife:81, Brasília:61',
    ),
    digits: 8,
    mobiles: [
      '+55 (A) 9XXXX-XXXX',
      '+55A9XXXXXXXX',
      '55A9XXXXXXXX',
      '+55 A XXXX-XXXX',
      '0055 A 9XXXX XXXX',
      '+55 A 9 XXXX XXXX',
    ],
    landline: '+55 (A) 3XXX-XXXX',
  },
  {
    country: 'Argentina',
    code: 'AR',
    language: 'es',
    share: 14,
    cities: cities('Buenos Aires:11, Ciudad Autónoma de Buenos Aires:11'),
    digits: 8,
    mobiles: ['+54 9 A XXXX-XXXX', '+549AXXXXXXXX', '+54 A XXXX XXXX', '0054 9 A XXXX XXXX', '549AXXXXXXXX'],
    landline: '+54 A XXXX-XXXX',
  },
  {
    country: 'Argentina',
    code: 'AR',
    language: 'es',
    share: 6,
    cities: cities('Córdoba:351, Rosario:341, Mendoza:261, Bariloche:294'),
    digits: 7,
    mobiles: ['+54 9 A XXX-XXXX', '549AXXXXXXX', '+54 9 (A) XXX XXXX'],
    landline: '+54 A XXX-XXXX',
  },
  {
    country: 'Colombia',
    code: 'CO',
    language: 'es',
    share: 4,
    cities: cities('Bogotá:310, Medellín:314, Cali:316'),
    digits: 7,
    mobiles: ['+57 A XXX XXXX', '57AXXXXXXX'],
    landline: '+57 601 XXX XXXX',
  },
  {
    country: 'Perú',
    code: 'PE',
    language: 'es',
    share: 2,
    cities: cities('Lima:9, Arequipa:9'),
    digits: 8,
    mobiles: ['+51 AXX XXX XXX', '0051AXXXXXXXX'],
    landline: '+51 1 XXX XXXX',
  },
  {
    country: 'Chile',
    code: 'CL',
    language: 'es',
    share: 2,
    cities: cities('Santiago:9, Valparaíso:9'),
    digits: 8,
    mobiles: ['+56 A XXXX XXXX', '56AXXXXXXXX'],
    landline: '+56 2 XXXX XXXX',
  },
  {
    country: 'United States',
    code: 'US',
    language: 'en',
    share: 3,
    cities: cities('Miami:305, Los Angeles:213, Austin:512, Chicago:312'),
    digits: 7,
    mobiles: ['+1 (A) XXX-XXXX', '1AXXXXXXX', '+1 A.XXX.XXXX'],
    landline: '+1 A-XXX-XXXX',
  },
  {
    country: 'United Kingdom',
    code: 'GB',
    language: 'en',
    share: 1,
    cities: cities('London:77, Bristol:79'),
    digits: 8,
    mobiles: ['+44 AXX XXXXXX', '0044AXXXXXXXX'],
    landline: '+44 20 XXXX XXXX',
  },
];

export const names: Record<
  Language,
  { first: readonly string[]; last: readonly string[]; handles: readonly string[] }
> = {
  es: {
    first: listOf(
      'María Fernanda, José Luis, Guadalupe, Alejandro, Ximena, Rodrigo, Valentina, Emiliano, Sofía, Martín, Camila, Íñigo, Lucía, Sebastián, Daniela, Facundo, Renata, Julián, Paola, Tomás, Ana Paula, Nicolás, Regina, Agustín, Verónica, Ramón, Florencia, Ulises, Itzel, Joaquín',
    ),
    last: listOf(
      'Hernández, García Peña, Martínez, López Núñez, González, Rodríguez, Pérez Ibáñez, Sánchez, Ramírez, Cruz, Flores, Gómez, Morales, Vázquez, Jiménez, Domínguez, Muñoz, Castañeda, Quiroga, Bianchi, Fernández, Álvarez, Romero, Acosta, Benítez, Echeverría, Sosa, Villalobos, Zúñiga, Ortiz',
    ),
    handles: listOf('.viaja, _ok, .mochila, viajando'),
  },
  pt: {
    first: listOf(
      'Ana Clara, João Pedro, Beatriz, Rafael, Larissa, Thiago, Luíza, Gustavo, Mariana, Caio, Júlia, Felipe, Fernanda, Vinícius, Patrícia, Otávio, Camila, Leandro, Isabela, Antônio, Letícia, Matheus, Conceição, Bruno',
    ),
    last: listOf(
      'Silva, Souza, Oliveira, Santos, Ferreira, Alves Pinto, Gonçalves, Ribeiro, Carvalho, Araújo, Magalhães, Teixeira, Moreira, Nascimento, Queirós, Barbosa, Rocha, Falcão, Antunes, Prado',
    ),
    handles: listOf('.viaja, _br, pelomundo, .oficial'),
  },
  en: {
    first: listOf('Emily, James, Priya, Liam, Hannah, Marcus, Zoë, Oliver, Grace, Daniel, Chloe, Samuel'),
    last: listOf('Carter, O’Brien, Patel, Thompson, Nguyen, Walker, Fitzgerald, Brooks, Khan, Murphy'),
    handles: listOf('_travels, .outdoors, abroad, .photo'),
  },
};

/** Language | tag | the team's note about the person. */
export const wishes = rowsOf(`
es | luna de miel  | Luna de miel en marzo; quieren playa y un par de noches de ciudad. Les importa la habitación.
es | familia       | Viaja con dos hijos (6 y 9). Prefiere vuelos directos y hotel con alberca.
es | familia       | Tres generaciones, once personas. La abuela no puede subir escaleras.
es | aventura      | Ya hizo el W en Torres del Paine; busca algo más exigente. Viene de un grupo de montaña.
es | quinceañera   | Festejo de quince años con cinco amigas; la mamá decide y paga en dos tarjetas.
es | aniversario   | Cumplen 25 años de casados en noviembre. Sorpresa: no escribir al otro teléfono.
es | recurrente    | Cuarto viaje con nosotros. Siempre pide pasillo y alimentación vegetariana.
es | grupo         | Organiza a los compañeros de la oficina, entre 12 y 18 personas. Necesita factura.
es | referido      | Llegó recomendada por la familia Núñez. Compara con otra agencia, decide por servicio.
es | gastronomía   | Chef. Le interesan mercados y bodegas chicas, nada de buffet.
es | meses sin intereses | Pregunta siempre por meses sin intereses y por la política de cancelación.
pt | lua de mel    | Lua de mel em setembro; querem Noronha, mas o orçamento aperta. Sugerir baixa temporada.
pt | família       | Casal com bebê de um ano e meio. Precisa de berço e cadeirinha.
pt | réveillon     | Grupo de amigos para o Réveillon, oito pessoas, casa inteira.
pt | fidelizada    | Terceira viagem com a agência. Paga no Pix e decide rápido.
pt | terceira idade | Grupo da paróquia, vinte e duas pessoas, ritmo tranquilo.
pt | mergulho      | Tem curso avançado de mergulho; leva equipamento próprio.
pt | indicação     | Indicada pela Larissa. Quer neve pela primeira vez, com as crianças.
en | honeymoon     | Honeymoon in May. Two weeks, mix of city and nature, no big resorts.
en | photography   | Wildlife photographer, travels with 15 kg of gear. Needs a boat with space.
en | family        | Family of five, teenagers who surf. Flexible on dates.
en | returning     | Second trip after Patagonia last year. Likes the same guide.
`);
