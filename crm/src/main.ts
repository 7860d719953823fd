#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { Argument, Command, InvalidArgumentError, Option } from 'commander';
import { type CountryCode, isSupportedCountry } from 'libphonenumber-js/max';
import { CrmError, UnsettledListError } from '../../client/src/index.ts';
import { DELIMITERS } from './cells.ts';
import { CommandError, type Context, connect } from './context.ts';
import type { Importable } from './document.ts';
import { type Exportable, type ExportOptions, exportable, exportList } from './export.ts';
import { type ExportAllOptions, exportAll } from './export-all.ts';
import { FIELDS } from './fields.ts';
import { type ImportOptions, importFile } from './import.ts';
import { type SyncOptions, syncProducts } from './sync.ts';

/** Some rows were rejected, or files not downloaded; the rest is done. */
const SOME_REJECTED = 2;
const INTERRUPTED = 130;

const stop = new AbortController();
process.on('SIGINT', interrupt);
process.on('SIGTERM', interrupt);

/** The first call cancels the requests under way, which a later run repeats without harm; the second ends the process. */
function interrupt(): void {
  if (stop.signal.aborted) process.exit(INTERRUPTED);
  stop.abort(new CommandError('Stopped.', INTERRUPTED));
}

const collect = (value: string, earlier: string[]): string[] => [...earlier, value];

const wholeNumber =
  (least: number) =>
  (text: string): number => {
    if (!/^\d{1,9}$/.test(text) || Number(text) < least)
      throw new InvalidArgumentError(`must be a whole number of at least ${least}.`);
    return Number(text);
  };

function delimiterOf(text: string): string {
  const character = text === '\\t' || text === 'tab' ? '\t' : text;
  if (!DELIMITERS.includes(character)) throw new InvalidArgumentError('must be one of , ; | and tab.');
  return character;
}

const examples = (...lines: string[]): string =>
  `\nExamples:\n${lines.map((line) => `  ${line}`).join('\n')}\n`;

const fieldList = Object.entries(FIELDS).map(
  ([resource, fields]) => `  ${resource}: ${Object.keys(fields).join(', ')}\n`,
);

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));

const program = new Command('crm')
  .version(version, '-V, --version', 'show the version')
  .description('Imports, exports and syncs the data of a travel agency.')
  .addOption(
    new Option('--url <url>', 'address of the service').env('CRM_URL').default('http://localhost:3000'),
  )
  .addOption(new Option('--key <key>', 'API key; safer as an environment variable').env('CRM_API_KEY'))
  .option('--retries <count>', 'how often a failed request is retried', wholeNumber(0), 9)
  .showHelpAfterError('(see crm --help, or crm import --help)')
  .addHelpText(
    'after',
    examples(
      'crm import customers leads.csv --dry-run',
      'crm export customers > customers.csv',
      'crm sync products catalog.csv',
    ),
  );

const withConcurrency = (command: Command): Command =>
  command.option('--concurrency <count>', 'requests at the same time', wholeNumber(1), 16);
const withDelimiter = (command: Command, preset?: string): Command =>
  command.option('--delimiter <character>', 'one of , ; | and tab', delimiterOf, preset);
const withTable = (command: Command): Command =>
  withDelimiter(withConcurrency(command))
    .option('--map <column=field>', 'the field that a column fills; repeatable', collect, [])
    .option('--dry-run', 'show what would happen, and change nothing')
    .option('-y, --yes', 'do not ask');
function countryOf(text: string): CountryCode {
  const country = text.toUpperCase();
  if (!isSupportedCountry(country))
    throw new InvalidArgumentError('must be the two letters of a country, such as PE.');
  return country;
}

function context({ mayBeOffline = false } = {}): Context {
  const { url, retries, key } = program.opts<{ url: string; retries: number; key?: string }>();
  if (!key && !mayBeOffline) throw new CommandError('No API key. Set CRM_API_KEY, or use --key.');
  return connect({ url, key: key || undefined, retries }, stop);
}

function end(rejected: number): void {
  if (rejected > 0) process.exitCode = SOME_REJECTED;
}

withTable(program.command('import'))
  .description('create a record for each row of a CSV or NDJSON file')
  .addArgument(new Argument('<resource>').choices(Object.keys(FIELDS)))
  .argument('<file>')
  .addOption(
    new Option('--update [how]', 'update the customer that has the contact: fill empty fields, or overwrite')
      .choices(['fill', 'overwrite'])
      .preset('fill'),
  )
  .option(
    '--country <code>',
    'the country of telephone numbers without a country code, such as PE',
    countryOf,
  )
  .addOption(
    new Option(
      '--on-bad-contact <how>',
      'a row with another good contact is imported without the bad one, or rejected (default: skip)',
    ).choices(['skip', 'reject']),
  )
  .option('--resume', 'continue an interrupted import')
  .option('--restart', 'discard the state of an interrupted import and start over')
  .addHelpText(
    'after',
    `${examples(
      'crm import customers leads.csv --map "Teléfono=contacts.whatsapp"',
      'crm import customers leads.csv --map "Notas=" --dry-run',
      'crm import customers contacts.csv --country PE',
      'crm import customers leads.csv --update',
      'crm import customers leads.csv --resume',
      'crm import products catalog.csv',
    )}\nFields:\n${fieldList.join('')}`,
  )
  .action(async (resource: Importable, file: string, options: ImportOptions) =>
    end(await importFile(context({ mayBeOffline: options.dryRun === true }), resource, file, options)),
  );

withDelimiter(withConcurrency(program.command('export')), ',')
  .description('write a list as CSV or NDJSON, or everything into a folder')
  .addArgument(new Argument('[resource]', 'the list').choices(exportable))
  .option('--all', 'export every list, all transcripts and the files of quotes into the folder --output')
  .option('--resume', 'with --all: continue an interrupted export')
  .addOption(
    new Option(
      '--format <format>',
      'default: csv; ndjson if --output ends in .ndjson, and with --all',
    ).choices(['csv', 'ndjson']),
  )
  .option('-o, --output <file>', 'file, or folder with --all; otherwise standard output')
  .option('--filter <name=value>', 'a filter of the list; repeatable', collect, [])
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
    async (
      resource: Exportable | undefined,
      options: ExportOptions & ExportAllOptions & { all?: boolean },
    ) => {
      if (options.all && resource) throw new CommandError(`Use either ${resource} or --all.`);
      if (options.all) end(await exportAll(context(), options));
      else if (resource) await exportList(context(), resource, options);
      else throw new CommandError(`No list was named. Use one of ${exportable.join(', ')}, or --all.`);
    },
  );

withTable(program.command('sync'))
  .description('make the catalog equal to a file, by externalReferenceCode')
  .addArgument(new Argument('<resource>').choices(['products']))
  .argument('<file>')
  .option('--archive-missing', 'archive products that have a code and are not in the file; asks first')
  .addHelpText(
    'after',
    examples(
      'crm sync products catalog.csv --dry-run',
      'crm sync products catalog.csv --map "Código=externalReferenceCode" --archive-missing',
    ),
  )
  .action(async (_resource: string, file: string, options: SyncOptions) =>
    end(await syncProducts(context(), file, options)),
  );

try {
  await program.parseAsync();
} catch (error) {
  const { code, message } = error as { code?: string; message: string };
  // Whoever reads our output has closed it.
  if (code === 'EPIPE') process.exit(0);
  const isExpected =
    error instanceof CommandError ||
    error instanceof CrmError ||
    error instanceof UnsettledListError ||
    // Of a file: not found, a folder, without permission, a full disk.
    'syscall' in (error as object);
  process.stderr.write(`${isExpected ? message : (error as Error).stack}\n`);
  process.exit(error instanceof CommandError ? error.exitCode : 1);
}
