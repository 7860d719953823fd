import { runCommand } from './database.ts';

/** Applies the migrations; the service does so at every start as well. */
await runCommand(async () => {
  console.log('The database has the schema of this version.');
});
