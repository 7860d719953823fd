import { runCommand } from './database.ts';

/** Applies the migrations. The service does the same at every start. */
await runCommand(
  () => undefined,
  async () => console.log('The database has the schema of this version.'),
);
