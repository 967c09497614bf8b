import { Kept } from '../kept.ts';
import { parseMemoryFile, type Memory } from '../../protocol/files/memory.ts';
import { unreadable, type Parsed } from '../../protocol/text/result.ts';
import type { Transport } from '../../transport/transport.ts';

/** The content of a file, which is empty if it was not read, and the memory in it. */
export interface MemoryContent {
  bytes: Uint8Array;
  parsed: Parsed<Memory>;
}

const kept = new Kept<MemoryContent>(8 * 1024 * 1024);
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
