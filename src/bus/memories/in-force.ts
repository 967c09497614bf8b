import { actorScope, memorySuffix, type Memory } from '../../protocol/files/memory.ts';
import { supersededBy } from '../../protocol/files/memory-links.ts';
import { MEMORIES, placeOfRef } from '../../protocol/layout.ts';
import type { Located } from '../../protocol/message.ts';
import type { NoteInPrompt } from '../../protocol/text/structure.ts';
import type { ArchiveInPrompt } from '../../protocol/prompt/prompt-thread.ts';
import type { Transport } from '../../transport/transport.ts';
import { Cache } from '../cache.ts';
import { readMemory, contentsOf, filesOfMemories, type MemoryEntry } from './files.ts';

/** The fields of a note that decide whether it is in force, and that a prompt shows. */
type Head = Pick<
  Memory,
  'scope' | 'supersedes' | 'subject' | 'timestamp' | 'name' | 'kind' | 'change' | 'covers'
>;

/** A note in force, without its text. */
interface NoteInForce {
  file: string;
  oid: string;
  head: Head;
}

/** Maximum bytes of cached headers, for each of which there may be a megabyte of text. */
const HEADERS = 32 * 1024 * 1024;
const heads = new Cache<{ head: Head | undefined }>(HEADERS);
/** The notes in force of the last call, by the id of their folder. */
const found = new WeakMap<Transport, { folder: string; notes: NoteInForce[] }>();

/**
 * Returns the notes in force at a commit, newest first by file name; files that cannot be read are left
 * out. While the folder is unchanged, only its id is read; afterwards only new files.
 */
async function notesAt(transport: Transport, tip: string): Promise<NoteInForce[]> {
  const folder = (await transport.entriesAt(tip, [MEMORIES])).get(MEMORIES)?.oid;
  if (folder === undefined) return [];
  const known = found.get(transport);
  if (known?.folder === folder) return known.notes;
  const entries = await filesOfMemories(transport, tip);
  const read = await headsOf(transport, entries);
  const by = supersededBy(new Map([...read].map(([file, { head }]) => [file, head])));
  const notes = [...read.values()]
    .filter(({ file, head }) => !by.has(file) && head.change !== 'forget')
    .sort((a, b) => (a.file > b.file ? -1 : 1));
  // The size of this cache has to be limited here too, as cached notes hold their heads.
  const size = notes.reduce((sum, { head }) => sum + sizeOf(head), 0);
  if (size <= HEADERS) found.set(transport, { folder, notes });
  return notes;
}

async function headsOf(
  transport: Transport,
  entries: readonly MemoryEntry[],
): Promise<Map<string, NoteInForce>> {
  const read = new Map<string, NoteInForce>();
  const unknown: MemoryEntry[] = [];
  for (const entry of entries) {
    const known = heads.get(keyOf(entry));
    if (known === undefined) unknown.push(entry);
    else if (known.head !== undefined)
      read.set(entry.file, { file: entry.file, oid: entry.oid, head: known.head });
  }
  const oids = new Map(unknown.map((entry) => [entry.file, entry]));
  for await (const { file, parsed } of contentsOf(transport, unknown)) {
    const entry = oids.get(file);
    if (entry === undefined) continue;
    const head = parsed.ok ? headOf(parsed.value) : undefined;
    heads.keep(keyOf(entry), { head }, sizeOf(head));
    if (head !== undefined) read.set(file, { file, oid: entry.oid, head });
  }
  return read;
}

/**
 * Returns the key of an entry. A file of another name, or of another type, may be unreadable although the
 * same content was read.
 */
function keyOf({ file, mode, oid }: MemoryEntry): string {
  return `${oid} ${mode} ${file}`;
}

function headOf({ scope, supersedes, subject, timestamp, name, kind, ...rest }: Memory): Head {
  const { change, covers } = rest;
  const head = { scope, supersedes, subject: subject.slice(0, MAX_SUBJECT), timestamp };
  const more = { name, kind, change, covers };
  // A substring may keep the whole text in memory; these are strings of their own.
  return JSON.parse(JSON.stringify({ ...head, ...more })) as Head;
}

/** Maximum characters of a subject, of which a prompt shows no more than 300. */
const MAX_SUBJECT = 1000;

function sizeOf(head: Head | undefined): number {
  if (head === undefined) return 0;
  const { subject, supersedes, covers = [] } = head;
  return subject.length + 60 * supersedes.length + 120 * covers.length;
}

/**
 * Lists the notes that a prompt names: those for the actor alone, then those for its channel, then those
 * for all, the newest first. Summaries of threads are not among them: the prompt shows them where a
 * thread is cut.
 */
export async function notesForPrompt(
  transport: Transport,
  { tip, actor, channel }: { tip: string; actor: string; channel: string },
): Promise<NoteInPrompt[]> {
  const notes = (await notesAt(transport, tip)).filter(({ head }) => head.kind !== 'archive');
  const scopes = [
    [actorScope(actor), 'you'],
    [channel, 'this channel'],
    ['global', 'all'],
  ] as const;
  return scopes.flatMap(([of, scope]) =>
    notes
      .filter(({ head }) => head.scope === of)
      .map(({ file, head: { kind, name, subject, timestamp } }) => ({
        suffix: memorySuffix(file),
        day: timestamp.slice(0, 10),
        ...(kind !== undefined && { kind }),
        ...(name !== undefined && { name }),
        scope,
        subject,
      })),
  );
}

/**
 * Returns the note that summarizes most of these messages, and of several the newest; an empty list if
 * there is none. The messages that a note claims to cover are only compared here: anyone who can push can
 * claim anything.
 *
 * @param messages by their names in the channel `home`
 */
export async function archivesOf(
  transport: Transport,
  { tip, home }: { tip: string; home: string },
  messages: readonly Located[],
): Promise<ArchiveInPrompt[]> {
  const notes = (await notesAt(transport, tip)).filter(({ head }) => head.kind === 'archive');
  if (notes.length === 0) return [];
  const wanted = new Map(
    messages.map(({ relPath: ref }) => {
      const { channel, relPath } = placeOfRef(home, ref);
      return [`${channel}/${relPath}`, ref];
    }),
  );
  let best: { note: NoteInForce; covers: Set<string> } | undefined;
  for (const note of notes) {
    const covers = new Set((note.head.covers ?? []).flatMap((one) => wanted.get(one) ?? []));
    if (covers.size > (best?.covers.size ?? 0)) best = { note, covers };
  }
  if (best === undefined) return [];
  const { parsed } = await readMemory(transport, best.note.oid);
  if (!parsed.ok) return [];
  const { from, body } = parsed.value;
  return [{ suffix: memorySuffix(best.note.file), from, covers: best.covers, body }];
}
