import { CatalogProductCreate } from '../src/catalog/schema.ts';
import { CustomerCreate } from '../src/customers/schema.ts';
import { demoCustomers } from './customers.ts';
import { at, daysAgo, idOf, plusMinutes } from './random.ts';

/** A small agency in Belo Horizonte, whose records the first one must never see. */

const id = (name: string, days: number): string => idOf(`aurora ${name}`, daysAgo(days));

const products = [
  {
    title: 'Ouro Preto e Mariana de trem',
    durationDays: 3,
    fromPrice: 1290,
    externalReferenceCode: 'AUR-01',
  },
  {
    title: 'Inhotim com almoço',
    type: 'experience',
    durationHours: 9,
    fromPrice: 420,
    externalReferenceCode: 'AUR-02',
  },
  {
    title: 'Serra do Cipó: cachoeiras',
    durationDays: 2,
    fromPrice: 790,
    status: 'paused',
    externalReferenceCode: 'AUR-03',
  },
];

const customers = [
  {
    firstName: 'Helena',
    lastName: 'Drummond',
    city: 'Belo Horizonte',
    contacts: ['whatsapp', '+55 31 98877-6655'],
  },
  {
    firstName: 'Davi',
    lastName: 'Lacerda',
    city: 'Contagem',
    contacts: ['email', 'davi.lacerda@correio.example'],
  },
  { firstName: 'Noemi', lastName: 'Braga', city: 'Betim', contacts: ['instagram', '@noemi.pelomundo'] },
  { firstName: null, lastName: null, city: null, contacts: ['messenger', '7200000000000042'] },
];

/** The agency's records with their ids. */
export function neighbour() {
  // A person who writes to both agencies is a customer of each, with the same contact.
  const shared = at(demoCustomers(), 0).input;
  const customer = id('customer 0', 90);
  const seller = id('member', 390);
  const stage = id('stage', 390);
  const opportunity = id('opportunity', 60);
  const start = daysAgo(60);
  return {
    members: [
      {
        id: seller,
        since: daysAgo(390),
        input: {
          userId: 'user_9001',
          name: 'Aurora Campos',
          email: 'aurora@auroraturismo.example',
          roles: ['owner'],
          isAssignable: true,
        },
      },
    ],
    stages: [{ id: stage, input: { key: 'proposal', name: 'Proposta', position: 0 } }],
    products: products.map((product, index) => ({
      id: id(`product ${index}`, 300 - index),
      since: daysAgo(300 - index),
      input: CatalogProductCreate.parse({
        ...product,
        currency: 'BRL',
        budgetTier: 'mid',
        variants: [{ label: 'Saída regular' }],
      }),
    })),
    customers: [
      ...customers.map(({ contacts: [identifierType, identifierValue], ...person }, index) => ({
        id: id(`customer ${index}`, 90 - index),
        since: daysAgo(90 - index),
        input: CustomerCreate.parse({
          ...person,
          preferredLanguage: 'pt',
          contacts: [{ identifierType, identifierValue }],
        }),
      })),
      { id: id('customer shared', 30), since: daysAgo(30), input: shared },
    ],
    opportunities: [
      {
        id: opportunity,
        since: start,
        input: {
          title: 'Ouro Preto em família',
          shortRef: 'AU-1',
          destination: 'Ouro Preto',
          customerId: customer,
          sellerMemberId: seller,
          stageId: stage,
          salesStage: 'proposal',
          temperature: 'warm' as const,
        },
      },
    ],
    conversations: [
      {
        id: id('conversation', 60),
        since: start,
        input: {
          channel: 'whatsapp',
          contact: '+5531988776655',
          contactName: 'Helena',
          customerId: customer,
          language: 'pt',
        },
        messages: [
          {
            id: id('message 0', 60),
            content: 'Oi, o passeio de trem sai aos sábados?',
            direction: 'inbound',
            messageType: 'text',
            senderName: 'Helena',
            createdAt: start.toISOString(),
          },
          {
            id: id('message 1', 60),
            content: 'Oi, Helena! Sai sim, sábado e domingo.',
            direction: 'outbound',
            messageType: 'text',
            senderName: 'Aurora Campos',
            createdAt: plusMinutes(start, 7).toISOString(),
          },
        ],
      },
    ],
    quotes: [
      {
        id: id('quote', 58),
        since: daysAgo(58),
        input: {
          opportunityId: opportunity,
          title: 'Ouro Preto, 3 dias',
          status: 'draft' as const,
          price: 2580,
          currency: 'BRL',
        },
      },
    ],
  };
}
