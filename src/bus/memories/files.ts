import { MEMORIES } from '../../protocol/layout.ts';
import {
  isMemoryFile,
  MEMORY_FORM,
  parseMemoryFile,
  type Memory,
} from '../../protocol/files/memory.ts';
import { unreadable, type Parsed } from '../../protocol/text/result.ts';
import type { Transport, TreeEntry } from '../../transport/transport.ts';
import { Cache } from '../cache.ts';

/** An entry of `data/memories/` at a commit. */
export type MemoryEntry = TreeEntry & { file: string };

/** An entry with its content, unless the content was not read. */
type ReadMemory = MemoryContent & { file: string };

/** Number of files read at a time: enough to keep git busy, and few enough for memory. */
const CHUNK = 100;

/** Lists every entry of `data/memories/` at a commit except hidden ones, in the order of their names. */
export async function filesOfMemories(transport: Transport, tip: string): Promise<MemoryEntry[]> {
  return (await transport.list(tip, [MEMORIES]))
    .map((entry) => ({ ...entry, file: entry.path.slice(MEMORIES.length + 1) }))
    .filter(({ file }) => !file.startsWith('.'));
}

/**
 * Reads the content of entries, in their order. An entry of any kind leads to a reason, never to an
 * exception.
 */
export async function* contentsOf(
  transport: Transport,
  entries: readonly MemoryEntry[],
): AsyncGenerator<ReadMemory> {
  await transport.prefetch(entries.filter(isPlain).map(({ oid }) => oid));
  for (let at = 0; at < entries.length; at += CHUNK)
    yield* await Promise.all(
      entries.slice(at, at + CHUNK).map((entry) => readOne(transport, entry)),
    );
}

function isPlain({ file, mode, type }: MemoryEntry): boolean {
  return isMemoryFile(file) && type === 'blob' && mode !== '120000';
}

async function readOne(transport: Transport, entry: MemoryEntry): Promise<ReadMemory> {
  const { file, mode, type, oid } = entry;
  const none = (reason: string): ReadMemory => ({
    file,
    bytes: new Uint8Array(),
    parsed: unreadable(reason),
  });
  if (type === 'tree') return none('a folder');
  if (type === 'commit') return none('a submodule');
  if (mode === '120000') return none('a symlink');
  if (!isMemoryFile(file)) return none(`its name is not of the form ${MEMORY_FORM}`);
  return { file, ...(await readMemory(transport, oid)) };
}

/** The content of a file, which is empty if it was not read, and the memory in it. */
interface MemoryContent {
  bytes: Uint8Array;
  parsed: Parsed<Memory>;
}

const kept = new Cache<MemoryContent>(8 * 1024 * 1024);
/** Separate for each transport, because two may be open. */
const reading = new WeakMap<Transport, Map<string, Promise<MemoryContent>>>();

/** Reads content as a memory by its object id, once for any number of files with that content. */
export function readMemory(transport: Transport, oid: string): Promise<MemoryContent> {
  const known = kept.get(oid);
  if (known !== undefined) return Promise.resolve(known);
  const running = reading.get(transport) ?? new Map<string, Promise<MemoryContent>>();
  reading.set(transport, running);
  const read = running.get(oid) ?? parse(transport, oid);
  running.set(oid, read);
  return read.finally(() => running.delete(oid));
}

async function parse(transport: Transport, oid: string): Promise<MemoryContent> {
  const none = (reason: string): MemoryContent => ({
    bytes: new Uint8Array(),
    parsed: unreadable(reason),
  });
  const object = await transport.objects.read(oid);
  if (object === undefined) return none('its content is missing from this clone');
  if (object.content === undefined)
    return kept.keep(object.oid, none(`larger than 1 MiB: ${String(object.size)} bytes`), 0);
  const bytes = object.content;
  return kept.keep(object.oid, { bytes, parsed: parseMemoryFile(bytes) }, 2 * bytes.byteLength);
}
