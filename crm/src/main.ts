#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { Command, InvalidArgumentError, Option } from 'commander';
import { CrmError, UnsettledListError } from '../../client/src/index.ts';
import { DELIMITERS } from './cells.ts';
import { CommandError, type Context, connect } from './context.ts';
import type { Importable } from './document.ts';
import { type Exportable, type ExportOptions, exportable, exportList } from './export.ts';
import { type ExportAllOptions, exportAll } from './export-all.ts';
import { FIELDS } from './fields.ts';
import { type ImportOptions, importFile } from './import.ts';
import { type SyncOptions, syncProducts } from './sync.ts';

/** Some rows were refused; the rest is done. */
const SOME_REFUSED = 2;
/** After Ctrl-C, what is under way has this many milliseconds to finish. */
const GRACE = 5_000;
const INTERRUPTED = 130;

const stop = new AbortController();
const cancel = new AbortController();
process.on('SIGINT', interrupt);
process.on('SIGTERM', interrupt);

/** The first time lets requests under way finish, the second ends them; what is settled stays noted either way. */
function interrupt(): void {
  if (cancel.signal.aborted) process.exit(INTERRUPTED);
  const end = () => cancel.abort(new CommandError('Stopped.', INTERRUPTED));
  if (stop.signal.aborted) {
    end();
    return;
  }
  stop.abort(new CommandError('Stopped.', INTERRUPTED));
  process.stderr.write('\nStopping; once more ends it at once.\n');
  setTimeout(end, GRACE).unref();
}

const collect = (value: string, earlier: string[]): string[] => [...earlier, value];

function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('must be a whole number.');
  return Number(text);
}

function atLeastOne(text: string): number {
  const number = wholeNumber(text);
  if (number === 0) throw new InvalidArgumentError('must be at least 1.');
  return number;
}

function delimiterOf(text: string): string {
  const character = text === '\\t' || text === 'tab' ? '\t' : text;
  if (!DELIMITERS.includes(character)) throw new InvalidArgumentError('must be one of , ; | and tab.');
  return character;
}

const examples = (...lines: string[]): string =>
  `\nExamples:\n${lines.map((line) => `  ${line}`).join('\n')}\n`;

const fieldList = (resource: Importable): string =>
  `  ${resource}: ${Object.keys(FIELDS[resource]).join(', ')}`;

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));

const program = new Command('crm')
  .version(version, '-V, --version', 'say which version this is')
  .description('Imports, exports and syncs the data of a travel agency.')
  .addOption(
    new Option('--url <url>', 'where the service answers').env('CRM_URL').default('http://localhost:3000'),
  )
  .addOption(new Option('--key <key>', 'the API key; better kept in the environment').env('CRM_API_KEY'))
  .addOption(
    new Option('--retries <count>', 'how often a request that failed on the way is sent again')
      .argParser(wholeNumber)
      .default(9),
  )
  .showHelpAfterError('(crm --help, or crm import --help, shows how)')
  .addHelpText(
    'after',
    examples(
      'crm import customers leads.csv --dry-run',
      'crm export customers > customers.csv',
      'crm sync products catalog.csv',
    ),
  );

const concurrency = () =>
  new Option('--concurrency <count>', 'requests under way at once').argParser(atLeastOne).default(16);
const map = () =>
  new Option('--map <column=field>', 'which column fills which field; more than once')
    .argParser(collect)
    .default([]);
const delimiter = (preset?: string) => {
  const option = new Option('--delimiter <character>', 'between cells; one of , ; | and tab').argParser(
    delimiterOf,
  );
  return preset === undefined ? option : option.default(preset);
};
const dryRun = () => new Option('--dry-run', 'show what would happen, and change nothing');
const yes = () => new Option('-y, --yes', 'do not ask');

function context({ isOffline = false } = {}): Context {
  const {
    url,
    retries,
    // A trial sends nothing, and needs no key.
    key = isOffline ? 'none' : undefined,
  } = program.opts<{
    url: string;
    retries: number;
    key?: string;
  }>();
  if (!key) throw new CommandError('Which key? Set CRM_API_KEY, or say --key.');
  return connect({ url, key, retries }, { stop: stop.signal, cancel: cancel.signal });
}

program
  .command('import')
  .description('create a record for each row of a CSV or NDJSON file')
  .argument('<resource>', `one of ${Object.keys(FIELDS).join(', ')}`)
  .argument('<file>')
  .addOption(map())
  .addOption(dryRun())
  .addOption(
    new Option('--update [how]', 'change the customer that has the contact: fill what is empty, or overwrite')
      .choices(['fill', 'overwrite'])
      .preset('fill'),
  )
  .option('--resume', 'go on with an import that was stopped')
  .option('--restart', 'forget an import that was stopped')
  .addOption(yes())
  .addOption(delimiter())
  .addOption(concurrency())
  .addHelpText(
    'after',
    `${examples(
      'crm import customers leads.csv --map "Teléfono=contacts.whatsapp"',
      'crm import customers leads.csv --map "Notas=" --dry-run',
      'crm import customers leads.csv --update',
      'crm import customers leads.csv --resume',
      'crm import products catalog.csv',
    )}\nFields:\n${fieldList('customers')}\n${fieldList('products')}\n`,
  )
  .action(async (resource: string, file: string, options: ImportOptions) => {
    if (!(resource in FIELDS))
      throw new CommandError(
        `There is no import of "${resource}": one of ${Object.keys(FIELDS).join(', ')}.`,
      );
    const refused = await importFile(
      context({ isOffline: options.dryRun === true }),
      resource as Importable,
      file,
      options,
    );
    if (refused > 0) process.exitCode = SOME_REFUSED;
  });

program
  .command('export')
  .description('write a list as CSV or NDJSON, or everything into a folder')
  .argument('[resource]', `one of ${exportable.join(', ')}`)
  .option('--all', 'every list, all transcripts and the files of quotes, into the folder of --output')
  .option('--resume', 'with --all: go on with an export that was stopped')
  .addOption(
    new Option(
      '--format <format>',
      'csv unless --output ends in .ndjson; with --all ndjson, which keeps all',
    ).choices(['csv', 'ndjson']),
  )
  .option('-o, --output <file>', 'where to write; standard output without it')
  .addOption(concurrency())
  .addOption(
    new Option('--filter <name=value>', 'a filter of the list; more than once')
      .argParser(collect)
      .default([]),
  )
  .addOption(delimiter(','))
  .addHelpText(
    'after',
    examples(
      'crm export customers > customers.csv',
      'crm export products --filter status=active --delimiter ";" -o catalog.csv',
      'crm export quotes --format ndjson | jq .price',
      'crm export --all -o my-agency --resume',
    ),
  )
  .action(
    async (resource: string | undefined, options: ExportOptions & ExportAllOptions & { all?: boolean }) => {
      if (options.all && resource !== undefined) throw new CommandError(`Say either ${resource} or --all.`);
      if (options.all) {
        if ((await exportAll(context(), options)) > 0) process.exitCode = SOME_REFUSED;
        return;
      }
      if (resource === undefined)
        throw new CommandError(`Which list? One of ${exportable.join(', ')}; or --all.`);
      if (!exportable.includes(resource as Exportable))
        throw new CommandError(`There is no export of "${resource}": one of ${exportable.join(', ')}.`);
      await exportList(context(), resource as Exportable, options);
    },
  );

program
  .command('sync')
  .description('make the catalog what a file says, by externalReferenceCode')
  .argument('<resource>', 'products')
  .argument('<file>')
  .addOption(map())
  .addOption(dryRun())
  .option('--archive-missing', 'archive the products that have a code and are not in the file; asks first')
  .addOption(yes())
  .addOption(delimiter())
  .addOption(concurrency())
  .addHelpText(
    'after',
    examples(
      'crm sync products catalog.csv --dry-run',
      'crm sync products catalog.csv --map "Código=externalReferenceCode" --archive-missing',
    ),
  )
  .action(async (resource: string, file: string, options: SyncOptions) => {
    if (resource !== 'products')
      throw new CommandError(`There is no sync of "${resource}": only of products.`);
    const refused = await syncProducts(context(), file, options);
    if (refused > 0) process.exitCode = SOME_REFUSED;
  });

try {
  await program.parseAsync();
} catch (error) {
  const { code, message } = error as { code?: string; message: string };
  // Whoever read our output has enough of it.
  if (code === 'EPIPE') process.exit(0);
  const isExpected =
    error instanceof CommandError ||
    error instanceof CrmError ||
    error instanceof UnsettledListError ||
    // Of a file: it is not there, is a folder, may not be read, the disk is full.
    'syscall' in (error as object);
  process.stderr.write(`${isExpected ? message : (error as Error).stack}\n`);
  process.exit(error instanceof CommandError ? error.exitCode : 1);
}
