import type { FileRef } from '../dispatcher/archive.ts';
import { emptyBatch, type Batch } from '../index/writer.ts';
import { CHANNELS, folderUse, MEMORIES, placeOf } from '../protocol/layout.ts';
import { isMemoryFile } from '../protocol/memory.ts';
import { Repeats, type Change } from '../transport/transport.ts';
import type { Context } from './context.ts';
import { readMemory } from './memory-content.ts';

/** Said of a file whose content is not in this clone; it is looked at again each time. */
export const MISSING = 'its content is missing from this clone';

/** Reads files as what their places say, for the index. Channels are read at `tip`. */
export async function readFiles(
  context: Context,
  tip: string,
  files: readonly FileRef[],
): Promise<Batch> {
  const batch = emptyBatch();
  await context.transport.prefetch(files.map(({ oid }) => oid));
  await Promise.all(files.map((file) => readFile(context, tip, file, batch)));
  // What is read at the same time ends in any order.
  batch.messages.sort((a, b) => (a.relPath < b.relPath ? -1 : a.relPath > b.relPath ? 1 : 0));
  return batch;
}

/** What a change of the tree means for the index: what is gone, and what is to be read. */
export async function readChanges(
  context: Context,
  tip: string,
  changes: readonly Change[],
): Promise<Batch> {
  const batch = await readFiles(
    context,
    tip,
    changes.filter(({ status }) => status !== 'D'),
  );
  for (const { path, status } of changes) {
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
  return batch;
}

async function readFile(
  { archive, transport }: Context,
  tip: string,
  file: FileRef,
  batch: Batch,
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
    const { name } = await archive.channel(tip, place.channel);
    batch.channels.push({ uuid: place.channel, name });
  }
  if (place.kind !== 'message') return;
  const message = await archive.parse(file);
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
/** What a folder that is there again is taken to hold. */
const REPEATED = 50;

/** A folder of one day of one channel. */
export interface DayFolder {
  path: string;
  /** `YYYY/MM/DD`. */
  day: string;
}

/**
 * The day folders of all channels at a commit, newest first, without what is in them; and every file
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
