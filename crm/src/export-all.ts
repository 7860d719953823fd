import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { type ConversationMessage, CrmError, type QuoteAttachment } from '../../client/src/index.ts';
import { quoted } from './cells.ts';
import { CommandError, type Context } from './context.ts';
import { type Exportable, exportable, exportList, finish } from './export.ts';
import { inOrder } from './in-order.ts';
import { startProgress } from './progress.ts';
import { inspect, openRows } from './source.ts';
import { readJson, replaceFile } from './state.ts';

/**
 * Everything that a key can read, in a folder: the lists, a transcript for each conversation, the files of quotes. An interrupted
 * list is written again from its start; transcripts and files resume where they were, in the order of their list.
 */

export type ExportAllOptions = {
  output?: string;
  format?: 'csv' | 'ndjson';
  resume?: boolean;
  filter: string[];
  delimiter: string;
  concurrency: number;
};

/** How many items of a list are written, and the length of their file. */
type Settled = { items: number; bytes: number; counts: Record<string, number> };

/** How far an export is, saved in its folder for --resume. */
type State = {
  format: 'csv' | 'ndjson';
  startedAt: string;
  /** Rows of the lists that are written. */
  lists: Partial<Record<Exportable, number>>;
  settled: Record<string, Settled>;
};

const STATE = 'crm-export.state';
const MANIFEST = 'manifest.json';
const SUMS = 'SHA256SUMS';
const SAVE_EVERY_MS = 1_000;
const IDS = 100;

/** The line of one item, and what it adds to the counts. */
type Outcome = { line: string; counts: Record<string, number> };

/** Of a record that was archived since its list was read. */
function ifGone(error: unknown): Outcome {
  if (error instanceof CrmError && error.status === 404) return { line: '', counts: { gone: 1 } };
  throw error;
}

async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  return hash.digest('hex');
}

/** The ids of a list that was written, in its order. */
async function* idsOf(path: string): AsyncGenerator<string> {
  const { header, rows } = await openRows(await inspect(path, { delimiter: ',' }));
  const column = header.indexOf('id');
  for await (const { cells, object } of rows) yield String(object ? object.id : cells[column]);
}

const listPath = (folder: string, resource: string, format: State['format']): string =>
  join(folder, `${resource}.${format}`);

/**
 * The state of the folder; undefined when its export is complete.
 * @throws CommandError for a folder with other files, and without `resume` for an interrupted export
 */
async function openState(folder: string, { resume, format }: ExportAllOptions): Promise<State | undefined> {
  await mkdir(folder, { recursive: true });
  const names = await readdir(folder);
  const state = await readJson<State>(join(folder, STATE));
  if (!state) {
    if (names.includes(SUMS)) {
      if (resume) return undefined;
      throw new CommandError(`${folder} has a complete export. Choose another folder.`);
    }
    if (names.length > 0) throw new CommandError(`${folder} has other files. Choose an empty folder.`);
    return { format: format ?? 'ndjson', startedAt: new Date().toISOString(), lists: {}, settled: {} };
  }
  if (!resume) throw new CommandError(`The export into ${folder} is unfinished: use --resume to continue.`);
  if (format !== undefined && format !== state.format)
    throw new CommandError(`The export into ${folder} began with --format ${state.format}.`);
  return state;
}

/** @throws CommandError when this key finds none of the records that are written: two agencies must not be mixed */
async function checkAgency({ crm, stop }: Context, folder: string, { lists, format }: State): Promise<void> {
  for (const resource of exportable) {
    if (!lists[resource]) continue;
    const ids = await Readable.from(idsOf(listPath(folder, resource, format)))
      .take(IDS)
      .toArray();
    if ((await crm[resource].byIds(ids, { signal: stop })).length > 0) return;
    throw new CommandError(
      `This key finds none of the first ${resource} in ${folder}: they belong to another agency. Choose another folder.`,
    );
  }
}

async function exportLists(context: Context, folder: string, state: State, save: () => Promise<void>) {
  for (const resource of exportable) {
    if (state.lists[resource] !== undefined) continue;
    const path = listPath(folder, resource, state.format);
    const how = { format: state.format, delimiter: ',', output: path, filter: [], unit: resource };
    const rows = await exportList(context, resource, how);
    state.lists[resource] = rows;
    await save();
  }
}

/** Writes a line for each id of the list, in its order, from where the state is. */
async function settleEach(
  context: Context,
  { folder, list, name, state, save }: Place & { list: Exportable; name: string },
  concurrency: number,
  work: (id: string) => Promise<Outcome>,
): Promise<void> {
  const path = join(folder, `${name}.ndjson`);
  const partial = `${path}.partial`;
  const total = state.lists[list] ?? 0;
  const done: Settled = state.settled[name] ?? { items: 0, bytes: 0, counts: {} };
  state.settled[name] = done;
  if ((await readdir(folder)).includes(`${name}.ndjson`)) return;
  const file = await open(partial, 'a+');
  // What was written after the last save is written again.
  await file.truncate(done.bytes);
  const progress = startProgress(context.errors, list, done.items);
  context.onRetry.report = progress.held;
  let savedAt = Date.now();
  const note = async () => {
    await file.sync();
    await save();
    savedAt = Date.now();
  };
  async function* rest(): AsyncGenerator<string> {
    let at = 0;
    for await (const id of idsOf(listPath(folder, list, state.format))) if (at++ >= done.items) yield id;
  }
  try {
    await inOrder(rest(), {
      work: (id: string) => work(id).catch(ifGone),
      settle: async (_id, { line, counts }) => {
        const text = Buffer.from(line);
        await file.appendFile(text);
        done.items += 1;
        done.bytes += text.length;
        for (const [kind, count] of Object.entries(counts))
          done.counts[kind] = (done.counts[kind] ?? 0) + count;
        const { bytes: _, ...shown } = done.counts;
        progress.update({ done: done.items, total, rows: done.items, counts: shown });
        if (Date.now() - savedAt >= SAVE_EVERY_MS) await note();
      },
      concurrency,
      window: concurrency * 2,
      signal: context.stop,
    });
    context.stop.throwIfAborted();
  } catch (error) {
    progress.end('Stopped');
    throw error;
  } finally {
    await note();
    await file.close();
  }
  await rename(partial, path);
  progress.end('Done');
}

type Place = { folder: string; state: State; save: () => Promise<void> };

/** All messages of the conversation, oldest first. */
async function transcriptOf({ crm, stop: signal }: Context, conversationId: string): Promise<Outcome> {
  const messages: ConversationMessage[] = [];
  for await (const message of crm.conversations.messages(conversationId, { signal })) messages.push(message);
  const line = `${JSON.stringify({ conversationId, messages: messages.reverse() })}\n`;
  return { line, counts: { transcripts: 1, messages: messages.length } };
}

/** The name without what some file system or program takes for something else. The id before it makes it unique. */
function safeName(name: string): string {
  const plain = name
    .slice(-255)
    .normalize('NFC')
    .replaceAll(/[\p{C}/\\:*?"<>|]/gu, '_');
  return [...plain]
    .slice(-100)
    .join('')
    .replace(/[. ]+$/, '');
}

/** A file that cannot be downloaded. The export continues without it. */
class MissingFile extends Error {}

/** Streams the file to the disk. @returns its SHA-256 */
async function download(url: string, path: string, sizeBytes: number, signal: AbortSignal): Promise<string> {
  const response = await fetch(url, { signal });
  if (!response.ok || !response.body) {
    await response.body?.cancel();
    throw new MissingFile(`the response was ${response.status}`);
  }
  const partial = `${path}.partial`;
  const body = Readable.fromWeb(response.body as never);
  try {
    await pipeline(body, createWriteStream(partial), { signal });
    const { size } = await stat(partial);
    if (size !== sizeBytes) throw new MissingFile(`it has ${size} bytes instead of ${sizeBytes}`);
    await finish(partial, path);
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  }
  return sha256Of(path);
}

const ATTEMPTS = 4;

/** An error of the connection, not of this disk. */
const isOfNetwork = (error: unknown): boolean =>
  error instanceof MissingFile || (error instanceof Error && !('syscall' in error && 'path' in error));

/** The files of the quote. A link lives for minutes: each retry takes a new one. */
async function filesOf(context: Context, folder: string, quoteId: string): Promise<Outcome> {
  const { crm, stop: signal, errors } = context;
  const counts: Record<string, number> = {};
  const add = (kind: string, count = 1) => {
    counts[kind] = (counts[kind] ?? 0) + count;
  };
  const listed = async () => (await crm.quotes.attachments(quoteId, { signal })).data;
  const fetched = async ({ id, fileName, sizeBytes, url: first }: QuoteAttachment) => {
    const file = ['files', quoteId, `${id}-${safeName(fileName)}`].join('/');
    let url = first;
    for (let attempt = 1; ; attempt += 1) {
      try {
        const sha256 = await download(url, join(folder, file), sizeBytes, signal);
        add('files');
        add('bytes', sizeBytes);
        return { file, sha256 };
      } catch (error) {
        if (signal.aborted || !isOfNetwork(error)) throw signal.aborted ? signal.reason : error;
        if (attempt === ATTEMPTS) {
          const sentence = `The file ${JSON.stringify(fileName)} of quote ${quoteId} cannot be downloaded: `;
          if (!(error instanceof MissingFile)) throw new CommandError(`${sentence}${error}`);
          errors.write(`\n${sentence}${error.message}.\n`);
          add('missingFiles');
          return { file: null, sha256: null };
        }
        await pause(250 * 2 ** attempt, undefined, { signal });
        url = (await listed()).find((each) => each.id === id)?.url ?? url;
      }
    }
  };
  let line = '';
  for (const attachment of await listed()) {
    add('attachments');
    await mkdir(join(folder, 'files', quoteId), { recursive: true });
    const { url: _url, ...described } = attachment;
    line += `${JSON.stringify({ quoteId, ...described, ...(await fetched(attachment)) })}\n`;
  }
  return { line, counts };
}

/** Writes the counts, and the checksum of each file as `sha256sum -c` reads it. */
async function writeManifest(folder: string, state: State): Promise<Record<string, number>> {
  const { lists, settled, format, startedAt } = state;
  const none = { transcripts: 0, messages: 0, attachments: 0, files: 0, bytes: 0, missingFiles: 0, gone: 0 };
  const counts: Record<string, number> = { ...lists, ...none };
  for (const part of Object.values(settled))
    for (const [kind, count] of Object.entries(part.counts)) counts[kind] = (counts[kind] ?? 0) + count;
  const manifest = { startedAt, finishedAt: new Date().toISOString(), counts };
  await replaceFile(join(folder, MANIFEST), `${JSON.stringify(manifest, null, 2)}\n`);
  const lines = ['transcripts.ndjson', 'attachments.ndjson'];
  const names = [MANIFEST, ...exportable.map((resource) => `${resource}.${format}`), ...lines];
  const sums: string[] = [];
  for (const name of names) sums.push(`${await sha256Of(join(folder, name))}  ${name}\n`);
  for (const line of (await readFile(join(folder, 'attachments.ndjson'), 'utf8')).split('\n')) {
    if (line === '') continue;
    const { file, sha256 } = JSON.parse(line) as { file: string | null; sha256: string };
    if (file !== null) sums.push(`${sha256}  ${file}\n`);
  }
  await replaceFile(join(folder, SUMS), sums.join(''));
  return counts;
}

/**
 * Writes everything into a folder, with a key that can read all resources.
 * @returns how many files of quotes could not be downloaded
 * @throws CommandError when it cannot go on; what is written stays for --resume
 */
export async function exportAll(context: Context, options: ExportAllOptions): Promise<number> {
  const { errors } = context;
  const { output: folder, filter, delimiter, concurrency } = options;
  if (folder === undefined) throw new CommandError('No folder was named. Use crm export --all -o FOLDER.');
  if (filter.length > 0 || delimiter !== ',')
    throw new CommandError('--all cannot be combined with --filter or --delimiter.');
  const state = await openState(folder, options);
  if (!state) {
    errors.write(`${folder} has the complete export.\n`);
    return 0;
  }
  const save = () => replaceFile(join(folder, STATE), JSON.stringify(state));
  const place = { folder, state, save };
  let counts: Record<string, number>;
  try {
    await checkAgency(context, folder, state);
    await save();
    await exportLists(context, folder, state, save);
    const transcripts = { ...place, list: 'conversations', name: 'transcripts' } as const;
    await settleEach(context, transcripts, concurrency, (id) => transcriptOf(context, id));
    const attachments = { ...place, list: 'quotes', name: 'attachments' } as const;
    await settleEach(context, attachments, concurrency, (id) => filesOf(context, folder, id));
    counts = await writeManifest(folder, state);
  } catch (error) {
    const { message, exitCode = 1 } = error as { message: string; exitCode?: number };
    const isUnfinished = (await readdir(folder)).includes(STATE);
    const goOn = isUnfinished ? `\nTo continue: crm export --all -o ${quoted(folder)} --resume` : '';
    throw new CommandError(`${message}${goOn}`, exitCode);
  }
  await rm(join(folder, STATE));
  errors.write(
    `${folder} has the complete export. To verify it: cd ${quoted(folder)} && sha256sum -c ${SUMS}\n`,
  );
  return counts.missingFiles ?? 0;
}
