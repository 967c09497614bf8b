import type { FileRef } from '../../bus/channel-files.ts';
import { readMemory } from '../../bus/memories/files.ts';
import { emptyIndexBatch, type IndexBatch } from '../../index/writer.ts';
import { CHANNELS, folderUse, MEMORIES, placeOf } from '../../protocol/layout.ts';
import { isMemoryFile } from '../../protocol/files/memory.ts';
import { Repeats, type FileChange } from '../../transport/transport.ts';
import type { Context } from '../context.ts';

/** The reason given for a file whose content is not in this clone; it is looked for again each time. */
export const MISSING = 'its content is missing from this clone';

/** Maximum number of files of one part. */
const PART = 4000;
/** Characters of messages after which a part ends; most parts have far fewer. */
const PART_TEXT = 16 * 1024 * 1024;
/** Minimum number of files read at the same time; few when they are large, as each may be a megabyte. */
const FEWEST = 8;
const MOST = 128;
const LARGE_TEXT = 1024 * 1024;

/** A part of the requested files, with their content. */
export interface Part<T> {
  batch: IndexBatch;
  files: readonly T[];
  isLast: boolean;
}

/**
 * Reads files according to their places, for the index, one part at a time; no files result in one empty
 * part. Channels are read at `tip`.
 *
 * @param isThere whether to read a file; if not, it is only counted in its part
 */
export async function* readInParts<T extends FileRef>(
  context: Context,
  tip: string,
  files: readonly T[],
  isThere: (file: T) => boolean = () => true,
): AsyncGenerator<Part<T>> {
  let [batch, from, text] = [emptyIndexBatch(), 0, 0];
  let [count, fetched] = [FEWEST, 0];
  for (let at = 0; ;) {
    if (at >= fetched) {
      fetched = at + PART;
      const ahead = files.slice(at, fetched).filter(isThere);
      await context.transport.prefetch(ahead.map(({ oid }) => oid));
    }
    const some = files.slice(at, Math.min(at + count, fetched));
    const known = batch.messages.length;
    await Promise.all(some.filter(isThere).map((file) => readFile(context, tip, file, batch)));
    const letters = batch.messages
      .slice(known)
      .reduce((sum, { message }) => sum + message.body.length, 0);
    count = letters > LARGE_TEXT ? FEWEST : Math.min(MOST, 2 * count);
    text += letters;
    at += some.length;
    const isLast = at >= files.length;
    if (!isLast && at - from < PART && text < PART_TEXT) continue;
    // Files that are read at the same time finish in any order.
    batch.messages.sort((a, b) => (a.relPath < b.relPath ? -1 : a.relPath > b.relPath ? 1 : 0));
    yield { batch, files: files.slice(from, at), isLast };
    if (isLast) return;
    [batch, from, text] = [emptyIndexBatch(), at, 0];
  }
}

/** Reads the effect of changes of the tree on the index, one part at a time: the removed files, and the new ones. */
export async function* readChanges(
  context: Context,
  tip: string,
  changes: readonly FileChange[],
): AsyncGenerator<Part<FileChange>> {
  const isThere = ({ status }: FileChange): boolean => status !== 'D';
  for await (const part of readInParts(context, tip, changes, isThere)) {
    for (const change of part.files) addGone(part.batch, change);
    yield part;
  }
}

function addGone(batch: IndexBatch, { path, status }: FileChange): void {
  const place = placeOf(path);
  const memory = memoryFileOf(path);
  if (status !== 'A' && place.kind === 'message') {
    const { channel, relPath } = place;
    batch.goneMessages.push({ channel, relPath });
  }
  if (status !== 'A') batch.goneMalformed.push(path);
  if (status !== 'A' && memory !== undefined) batch.goneMemories.push(memory);
  if (status === 'D' && place.kind === 'channel')
    batch.channels.push({ uuid: place.channel, name: place.channel });
}

async function readFile(
  { reader, transport }: Context,
  tip: string,
  file: FileRef,
  batch: IndexBatch,
): Promise<void> {
  const { path } = file;
  const memory = memoryFileOf(path);
  if (memory !== undefined) {
    const isFile = file.mode.startsWith('100');
    const parsed = isFile ? (await readMemory(transport, file.oid)).parsed : undefined;
    if (parsed?.ok === true) batch.memories.push({ file: memory, memory: parsed.value });
    return;
  }
  const place = placeOf(path);
  if (place.kind === 'stray') batch.malformed.push({ path, reason: place.reason });
  if (place.kind === 'channel') {
    const { name } = await reader.channel(tip, place.channel);
    batch.channels.push({ uuid: place.channel, name });
  }
  if (place.kind !== 'message') return;
  const message = await reader.parse(file);
  if (message?.ok === true) {
    const { channel, relPath } = place;
    batch.messages.push({ channel, relPath, message: message.value });
  } else {
    batch.malformed.push({ path, reason: message?.problems.join('; ') ?? MISSING });
  }
}

function memoryFileOf(path: string): string | undefined {
  const name = path.startsWith(`${MEMORIES}/`) ? path.slice(MEMORIES.length + 1) : undefined;
  return isMemoryFile(name) ? name : undefined;
}

const DAY = /^\d{4}\/\d{2}\/\d{2}$/;
/** Number of entries that a folder is assumed to contain when it was listed before. */
const REPEATED = 50;

/** A folder of one day of one channel. */
export interface DayFolder {
  path: string;
  /** The day as `YYYY/MM/DD`. */
  day: string;
}

/**
 * Lists the day folders of all channels at a commit, newest first, without their contents; and every file
 * of `data/channels` and `data/memories` that is in none of them.
 */
export async function dayFolders(
  { transport }: Context,
  tip: string,
): Promise<{ days: DayFolder[]; others: FileRef[] }> {
  const days: DayFolder[] = [];
  const others: FileRef[] = [];
  const repeats = new Repeats();
  const ahead = [CHANNELS];
  for (let folder = ahead.pop(); folder !== undefined; folder = ahead.pop()) {
    for (const entry of await transport.list(tip, [folder])) {
      const { path, oid, type } = entry;
      if (type !== 'tree' || folderUse(path) !== 'enter') {
        others.push(entry);
        continue;
      }
      const look = repeats.look(path, [oid]);
      if (look === 'again') repeats.charge(path, REPEATED);
      const day = path.split('/').slice(3).join('/');
      if (look === 'enough')
        others.push({ ...entry, unread: 'the same folder stands at too many places' });
      else if (DAY.test(day)) days.push({ path, day });
      else ahead.push(path);
    }
  }
  for (const entry of await transport.list(tip, [MEMORIES]))
    if (entry.type !== 'tree') others.push(entry);
  days.sort((a, b) => (a.day < b.day ? 1 : a.day > b.day ? -1 : 0));
  return { days, others };
}
