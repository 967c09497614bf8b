import { contentsOf, filesOfMemories } from '../../bus/memories/files.ts';
import { CrosstalkError } from '../../errors.ts';
import { MEMORIES, memoryFile } from '../../protocol/layout.ts';
import {
  isMemoryFile,
  MEMORY_FORM,
  isMemoryName,
  memorySuffix,
  parseMemoryFile,
  type Memory,
} from '../../protocol/files/memory.ts';
import { supersededBy } from '../../protocol/files/memory-links.ts';
import { shown, type Parsed } from '../../protocol/text/result.ts';
import { tipOf, type Context } from '../context.ts';
import { queuedFiles } from '../lookup/queued.ts';

/** A memory, its file, and its replacement. */
export interface StoredMemory {
  /** Its file name in `data/memories/`. */
  file: string;
  memory: Memory;
  /**
   * The file name of the newest memory that supersedes it (protocol.md §9); null while it is in
   * force.
   */
  superseded_by: string | null;
  /** Whether it is still in this machine's outbox. */
  queued: boolean;
}

/** A file that cannot be read as a memory, and the reason. */
export interface UnreadableMemory {
  file: string;
  reason: string;
}

/** A file of `data/memories/` with its content, unless the content was not read. */
export interface MemoryFile {
  file: string;
  bytes: Uint8Array;
  parsed: Parsed<Memory>;
  queued: boolean;
}

export interface Memories {
  memories: StoredMemory[];
  unreadable: UnreadableMemory[];
}

/** Maximum number of unreadable files that one line names. */
const MAX_NAMED = 5;

/**
 * Reads every file of `data/memories/` at the tip known locally, then those in the outbox, each in the
 * order of their names. A file with any content leads to a reason, never to an exception.
 *
 * @param wanted which files to read; all of them by default
 */
export async function* memoryFiles(
  context: Context,
  wanted: (file: string) => boolean = () => true,
): AsyncGenerator<MemoryFile> {
  const { transport } = context;
  // Read the outbox first: an entry that leaves it in the meantime is then found at the tip.
  const queued = await queuedMemories(context);
  const entries = (await filesOfMemories(transport, await tipOf(context))).filter(({ file }) =>
    wanted(file),
  );
  const there = new Set(entries.map(({ file }) => file));
  for await (const one of contentsOf(transport, entries)) yield { ...one, queued: false };
  for (const [file, bytes] of queued) {
    if (there.has(file) || !wanted(file)) continue;
    yield { file, bytes, parsed: parseMemoryFile(bytes), queued: true };
  }
}

/** Returns the memories that wait in this machine's outbox, by file name. */
async function queuedMemories(context: Context): Promise<Map<string, Uint8Array>> {
  const found = new Map<string, Uint8Array>();
  for (const { path, content } of await queuedFiles(context)) {
    const file = path.slice(MEMORIES.length + 1);
    if (isMemoryFile(file) && path === memoryFile(file)) found.set(file, Buffer.from(content));
  }
  return new Map([...found].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/**
 * Reads all memories known locally, including superseded ones, newest first, and the files that are not
 * memories. There is no fetch; call `refreshOrNote` first if that matters.
 *
 * @param options `bodies`: false leaves every body empty, which saves memory
 */
export async function readMemories(
  context: Context,
  { bodies = true }: { bodies?: boolean } = {},
): Promise<Memories> {
  const found: Omit<StoredMemory, 'superseded_by'>[] = [];
  const problems: UnreadableMemory[] = [];
  for await (const { file, parsed, queued } of memoryFiles(context)) {
    if (!parsed.ok) problems.push({ file, reason: parsed.problems.join('; ') });
    else found.push({ file, queued, memory: bodies ? parsed.value : bare(parsed.value) });
  }
  const by = supersededBy(new Map(found.map(({ file, memory }) => [file, memory])));
  return {
    memories: found
      .sort((a, b) => (a.file > b.file ? -1 : 1))
      .map((one) => ({ ...one, superseded_by: by.get(one.file) ?? null })),
    unreadable: problems,
  };
}

function bare(memory: Memory): Memory {
  return { ...memory, body: '' };
}

/** Notes which files are not memories, naming the first few, in one line for the operator. */
export function noteUnreadable(context: Context, files: readonly UnreadableMemory[]): void {
  if (files.length === 0) return;
  const many = files.length === 1 ? '1 file' : `${String(files.length)} files`;
  context.note(`${many} in ${MEMORIES} cannot be read: ${named(files)}`);
}

/** Formats the first few of the files, each with its problem. */
export function named(files: readonly UnreadableMemory[]): string {
  const listed = files
    .slice(0, MAX_NAMED)
    .map(({ file, reason }) => `${shown(file)} (${flat(reason)})`);
  const more = files.length - listed.length;
  return `${listed.join(', ')}${more > 0 ? ` and ${String(more)} more` : ''}`;
}

function flat(text: string): string {
  return text.replace(/\p{Cc}+/gu, ' ').slice(0, 200);
}

/** Whether a note is in force: nothing replaces it, and it does not only forget others. */
export function isInForce({ superseded_by: by, memory }: StoredMemory): boolean {
  return by === null && memory.change !== 'forget';
}

/**
 * Finds a memory by its file name, with or without `data/memories/`, by a unique hex suffix of at least 4
 * digits, or by the name under which it is in force, or else was forgotten.
 *
 * @throws CrosstalkError `not_found`, `ambiguous`, `invalid` for a file that is not a memory, or `usage`
 *   for a text that cannot be a memory's name
 */
export function resolveMemory(
  { memories, unreadable: problems }: Memories,
  given: string,
): StoredMemory {
  const wanted = given.trim().replace(/^data\/memories\//, '');
  const hex = /^[0-9a-fA-F]{4,64}$/.test(wanted);
  if (!hex && !isMemoryFile(wanted) && !isMemoryName(wanted)) {
    throw new CrosstalkError(
      'usage',
      `${shown(given)} is no note: expected ${MEMORY_FORM}, its hex suffix or its name; see them with: crosstalk memory list --all`,
    );
  }
  const exact = memories.filter(({ file }) => file === wanted || memorySuffix(file) === wanted);
  const ends = memories.filter((one) => one.memory.name === wanted && one.superseded_by === null);
  const called = ends.some(isInForce) ? ends.filter(isInForce) : ends;
  const found =
    exact.length > 0
      ? exact
      : hex
        ? memories.filter(({ file }) => memorySuffix(file).startsWith(wanted))
        : called;
  const [only, ...more] = found;
  if (only !== undefined && more.length === 0) return only;
  if (only !== undefined) {
    const listed = found.slice(0, MAX_NAMED).map(({ file }) => file);
    throw new CrosstalkError(
      'ambiguous',
      `several notes match ${shown(given)}: ${listed.join(', ')}; give the whole file name`,
    );
  }
  const broken = problems.filter(({ file }) => file === wanted || memorySuffix(file) === wanted);
  if (broken.length > 0) {
    throw new CrosstalkError(
      'invalid',
      `the file in ${MEMORIES} cannot be read: ${named(broken)}; fix it in git, or write the note anew with: crosstalk memory add`,
    );
  }
  throw new CrosstalkError(
    'not_found',
    `no note ${shown(given)} in this transport; see them with: crosstalk memory list --all`,
  );
}

/**
 * A cache of the memories known locally, without their texts, valid as long as nothing changes: a server
 * needs them repeatedly, and reading ten thousand takes seconds.
 */
export class KeptMemories {
  #kept: { key: string; memories: Promise<Memories> } | undefined;

  /** @param context that of the server, or a copy of it */
  async get(context: Context): Promise<Memories> {
    const key = await keyOf(context);
    if (this.#kept?.key === key) return this.#kept.memories;
    const made = { key, memories: readMemories(context, { bodies: false }) };
    this.#kept = made;
    made.memories.catch(() => {
      if (this.#kept === made) this.#kept = undefined;
    });
    return made.memories;
  }
}

/** Returns the cache key: the folder of the memories at the newest commit, and those in the outbox. */
async function keyOf(context: Context): Promise<string> {
  const [parent = ''] = MEMORIES.split('/');
  const folders = await context.transport.list(await tipOf(context), [parent]);
  const oid = folders.find(({ path }) => path === MEMORIES)?.oid ?? '';
  return [oid, ...(await queuedMemories(context)).keys()].join(' ');
}
