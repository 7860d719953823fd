export * from './catalog.ts';
export * from './conversations.ts';
export * from './customers.ts';
export * from './opportunities.ts';
export * from './organizations.ts';
export * from './quotes.ts';
export * from './team.ts';
